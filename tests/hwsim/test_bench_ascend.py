"""Speed of the Ascend models: ``pytest --benchmark-enable -k bench``."""

from __future__ import annotations

from typing import Any

import numpy as np

from hwsim.ascend_cube.analytical import simulate
from hwsim.ascend_cube.des import simulate_one
from hwsim.ascend_cube.tiles import matmul_table
from hwsim.ascend_cube.tiling import MatmulTiling
from hwsim.table import KernelTable

from .ascend_kernels import chip_of

B1 = chip_of("ascend-910b1")
TILING = MatmulTiling(4, 4, 128, 128, 64, step_ka=2, step_kb=2, depth_a1=4, depth_b1=4)
GEMM = matmul_table(1024, 1024, 1024, "float16", TILING)


def test_bench_analytical_on_100_000_rows(benchmark: Any) -> None:
    rng = np.random.default_rng(0)
    tables = [matmul_table(1024, 1024, 1024, "float16", random_tiling(rng)) for _ in range(1_000)]
    table = KernelTable.concat(tables).take(rng.integers(0, len(tables), 100_000))
    assert len(benchmark(simulate, table, B1)) == 100_000


def random_tiling(rng: np.random.Generator) -> MatmulTiling:
    """Of the sizes that a 1024^3 GEMM can have, all at random."""
    split_m, split_n, step_a, step_b, buffers = (int(x) for x in 2 ** rng.integers(0, 3, 5))
    base_m, base_n, base_k = (int(x) for x in 2 ** rng.integers(5, 9, 3))
    return MatmulTiling(
        split_m, split_n, base_m, base_n, base_k, step_ka=step_a, step_kb=step_b,
        depth_a1=buffers * step_a, depth_b1=buffers * step_b,
    )  # fmt: skip


def test_bench_des_gemm_1024(benchmark: Any) -> None:
    assert benchmark(simulate_one, GEMM, 0, B1).latency_us > 0


def test_bench_des_long_kernel(benchmark: Any) -> None:
    table = matmul_table(8192, 8192, 8192, "float16", MatmulTiling(1, 1, 64, 64, 64))
    assert benchmark(simulate_one, table, 0, B1).extrapolated
