"""Speed of the MLU's models: rows a second, and milliseconds for one kernel by events."""

from __future__ import annotations

from typing import Any

from hwsim.chips import load_chip
from hwsim.mlu_sram.analytical import simulate
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.des import simulate_one
from hwsim.mlu_sram.kernels import matmul_table
from hwsim.mlu_sram.tiles import MatmulTiles

from .mlu_kernels import random_kernels


def chip() -> MluChip:
    found = load_chip("mlu370-s4")
    assert isinstance(found, MluChip)
    return found


def test_bench_analytical_on_100_000_rows(benchmark: Any) -> None:
    table = random_kernels(100_000, seed=0)
    result = benchmark(simulate, table, chip())
    assert len(result) == 100_000


def test_bench_events_of_a_gemm_1024(benchmark: Any) -> None:
    tiles = MatmulTiles(
        m=1024, n=1024, k=1024, tile_m=64, tile_n=128, tile_k=64, double_buffer=True
    )
    table = matmul_table([tiles], chip())
    result = benchmark(simulate_one, table, 0, chip())
    assert result.latency_us > 0


def test_bench_events_of_a_very_long_kernel(benchmark: Any) -> None:
    tiles = MatmulTiles(
        m=2**18, n=4096, k=4096, tile_m=64, tile_n=64, tile_k=64, double_buffer=True
    )
    table = matmul_table([tiles], chip())
    result = benchmark(simulate_one, table, 0, chip())
    assert 1e5 < result.latency_us < 1e9
