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


def test_bench_analytical_100k_gemm_rows(benchmark: Any) -> None:
    rows = 100_000
    columns = {name: np.repeat(v, rows) for name, v in GEMM.columns.items() if name != "candidate"}
    table = KernelTable("ascend_cube", rows, columns)
    result = benchmark(simulate, table, B1)
    benchmark.extra_info["rows"] = rows
    assert (result.failure == 0).all()


def test_bench_des_gemm_1024(benchmark: Any) -> None:
    assert benchmark(simulate_one, GEMM, 0, B1).latency_us > 0


def test_bench_des_long_kernel(benchmark: Any) -> None:
    table = matmul_table(8192, 8192, 8192, "float16", MatmulTiling(1, 1, 64, 64, 64))
    assert benchmark(simulate_one, table, 0, B1).extrapolated
