"""Each MLU chip's answers to a fixed set of kernels, to the nanosecond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hwsim.chips import load_chip
from hwsim.mlu_sram.analytical import simulate
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.des import simulate_one
from hwsim.mlu_sram.kernels import matmul_table
from hwsim.mlu_sram.streaming import StreamTiles, streaming_table
from hwsim.mlu_sram.tiles import MatmulTiles
from hwsim.table import KernelTable

MATMULS = {
    "serial": {},
    "double_buffer": {"double_buffer": True},
    "prepacked": {"b_prepacked": True, "row_blocks": 2},
    "transposed": {"a_transposed": True, "b_transposed": True},
    "int8": {"in_bits": 8},
    "sram": {"union": True, "sram_a": True, "sram_b": True, "double_buffer": True},
    "odd": {"m": 1000, "n": 1001, "k": 770},
    "too_big": {"tile_m": 512, "tile_n": 1024},
}


def answers(table: KernelTable, chip: MluChip) -> list[dict[str, Any]]:
    result = simulate(table, chip)
    return [
        {
            "latency_us": round(float(result.latency_us[i]), 3),
            "events_us": round(simulate_one(table, i, chip).latency_us, 3),
            "bottleneck": result.bottleneck_names[result.bottleneck[i]],
            "failure": int(result.failure[i]),
        }
        for i in range(len(table))
    ]


@pytest.mark.parametrize("name", ["mlu370-s4", "mlu370-x4", "mlu370-x8", "mlu370-m8"])
def test_golden(name: str, golden: Callable[[str, Any], None]) -> None:
    chip = load_chip(name)
    assert isinstance(chip, MluChip)
    base: dict[str, Any] = {
        "m": 1024,
        "n": 1024,
        "k": 1024,
        "tile_m": 64,
        "tile_n": 256,
        "tile_k": 128,
    }
    found = {
        label: answers(matmul_table([MatmulTiles(**(base | changes))], chip), chip)
        for label, changes in MATMULS.items()
    }
    add = StreamTiles(elements=2**22, piece=2**15, inputs=2, double_buffer=True)
    found["add"] = answers(streaming_table([add], chip), chip)
    golden(name, found)
