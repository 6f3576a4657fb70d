"""Each Ascend chip's answers to a fixed set of kernels, to the nanosecond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hwsim.ascend_cube.analytical import simulate
from hwsim.ascend_cube.des import simulate_one
from hwsim.ascend_cube.tiles import matmul_table
from hwsim.ascend_cube.tiling import MatmulTiling
from hwsim.ascend_cube.vector_tiles import VectorTiling, elementwise_table
from hwsim.outcome import error_line
from hwsim.table import KernelTable

from .ascend_kernels import chip_of

_BASE: dict[str, int] = {
    "split_m": 4, "split_n": 5, "base_m": 128, "base_n": 128, "base_k": 64,
    "step_ka": 2, "step_kb": 2, "depth_a1": 4, "depth_b1": 4,
}  # fmt: skip
TILINGS: dict[str, dict[str, int]] = {
    "double_buffer": {},
    "serial": {"depth_a1": 2, "depth_b1": 2, "db_l0a": 1, "db_l0b": 1, "db_l0c": 1},
    "short_transfers": {"step_ka": 1, "step_kb": 1, "depth_a1": 2, "depth_b1": 2},
    "one_core": {"split_m": 1, "split_n": 1},
    "dealt": {"deal_to": 20},
    "too_big": {"base_m": 512},
}


def kernels() -> dict[str, KernelTable]:
    made = {
        label: matmul_table(1024, 1024, 1024, "float16", MatmulTiling(**(_BASE | changes)))
        for label, changes in TILINGS.items()
    }
    tiling = MatmulTiling(**_BASE)
    made["odd"] = matmul_table(1000, 1001, 770, "float16", tiling, trans_b=True)
    made["long"] = matmul_table(4096, 4096, 65536, "float16", tiling, trans_b=True)
    made["dequant"] = matmul_table(
        1024, 1024, 1024, "int8", tiling, out_dtype="int32", dequant_to="float16"
    )
    made["add"] = elementwise_table(2**22, "float16", VectorTiling(40, 4096, 2), inputs=2)
    return made


@pytest.mark.parametrize("name", ["ascend-910b1", "ascend-910b2", "ascend-910b3", "ascend-910b4"])
def test_golden(name: str, golden: Callable[[str, Any], None]) -> None:
    chip = chip_of(name)
    found: dict[str, dict[str, Any]] = {}
    for label, table in kernels().items():
        result = simulate(table, chip)
        found[label] = {
            "latency_us": round(float(result.latency_us[0]), 3),
            "events_us": round(simulate_one(table, 0, chip).latency_us, 3),
            "bottleneck": result.bottleneck_names[int(result.bottleneck[0])],
            "error": error_line(result, 0),
            "counters": {k: float(f"{v[0]:.6g}") for k, v in result.counters.items()},
        }
    golden(name, found)
