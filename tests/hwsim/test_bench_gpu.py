"""Speed of the GPU's models: rows a second, and milliseconds for one kernel by events."""

from __future__ import annotations

from typing import Any

import numpy as np

from hwsim.chips import load_chip
from hwsim.gpu_sm.analytical import simulate
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.des import simulate_one
from hwsim.gpu_sm.gemm import clblast_gemm
from hwsim.gpu_sm.library import library_gemm


def chip() -> GpuChip:
    found = load_chip("a100-sxm-40gb")
    assert isinstance(found, GpuChip)
    return found


def test_bench_analytical_on_100_000_rows(benchmark: Any) -> None:
    rng = np.random.default_rng(0)
    m, n = (rng.choice([8, 16, 32], 100_000) for _ in range(2))
    lanes = rng.choice([1, 2, 4], 100_000)
    table = clblast_gemm(
        {
            "MDIMC": m, "NDIMC": n, "MDIMA": m, "NDIMB": m, "VWM": lanes, "VWN": lanes,
            "KWG": np.full(100_000, 32), "MWG": 4 * m * lanes, "NWG": 2 * np.lcm(m, n) * lanes,
            "SA": rng.integers(0, 2, 100_000), "SB": rng.integers(0, 2, 100_000),
        },
        1024, 1024, 1024,
    )  # fmt: skip
    assert len(benchmark(simulate, table, chip())) == 100_000


def test_bench_events_of_a_gemm_1024(benchmark: Any) -> None:
    table = library_gemm(1024, 1024, 1024, 64, 64, 64)
    assert benchmark(simulate_one, table, 0, chip()).latency_us > 0


def test_bench_events_of_a_very_long_kernel(benchmark: Any) -> None:
    table = library_gemm(2**17, 4096, 4096, 64, 64, 64)
    assert benchmark(simulate_one, table, 0, chip()).latency_us > 1e5
