"""Each NVIDIA chip's answers to a fixed set of kernels, to the nanosecond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hwsim.chips import chip_names, load_chip
from hwsim.gpu_sm.analytical import simulate
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.convolution import convolution_2d
from hwsim.gpu_sm.des import simulate_one
from hwsim.gpu_sm.gemm import clblast_gemm
from hwsim.gpu_sm.library import library_gemm
from hwsim.gpu_sm.rowwise import rowwise
from hwsim.table import KernelTable

GPUS = [name for name in chip_names() if isinstance(load_chip(name), GpuChip)]
_TUNED = {
    "MWG": 64, "NWG": 64, "KWG": 32, "MDIMC": 16, "NDIMC": 8, "MDIMA": 16, "NDIMB": 16,
    "VWM": 4, "VWN": 4, "SA": 1, "SB": 1,
}  # fmt: skip
KERNELS: dict[str, KernelTable] = {
    "tuned_gemm": clblast_gemm(_TUNED, 2048, 2048, 2048),
    "direct_gemm": clblast_gemm(_TUNED | {"SA": 0, "SB": 0}, 2048, 2048, 2048),
    "library_gemm": library_gemm(2048, 2048, 2048, 128, 128, 256),
    "tensor_gemm": library_gemm(4096, 4096, 4096, 128, 128, 128, bits=16, tensor_core=True),
    "split_gemm": library_gemm(64, 64, 8192, 32, 32, 128, slices=4, split_k=8),
    "convolution": convolution_2d(32, 4, 2, 4),
    "softmax": rowwise(8192, 4096, 512, reads=3, alu_ops=8, special_ops=2, thread_ops=150),
    "too_much_shared": convolution_2d(64, 16, 4, 4),
}


def answers(table: KernelTable, chip: GpuChip) -> dict[str, Any]:
    result = simulate(table, chip)
    events = simulate_one(table, 0, chip)
    return {
        "latency_us": _rounded(float(result.latency_us[0])),
        "events_us": _rounded(events.latency_us),
        "bottleneck": result.bottleneck_names[result.bottleneck[0]],
        "failure": int(result.failure[0]),
    }


def _rounded(us: float) -> float | None:
    return round(us, 3) if np.isfinite(us) else None


@pytest.mark.parametrize("name", GPUS)
def test_golden(name: str, golden: Callable[[str, Any], None]) -> None:
    chip = load_chip(name)
    assert isinstance(chip, GpuChip)
    golden(name, {label: answers(table, chip) for label, table in KERNELS.items()})
