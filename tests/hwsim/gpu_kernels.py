"""Random GPU kernels for the tests, from every constructor."""

from __future__ import annotations

from typing import Any

import numpy as np

from hwsim.gpu_sm.convolution import convolution_2d
from hwsim.gpu_sm.gemm import clblast_gemm
from hwsim.gpu_sm.library import library_gemm
from hwsim.gpu_sm.rowwise import rowwise
from hwsim.table import KernelTable

Pick = Any


def random_kernels(n: int, seed: int) -> KernelTable:
    """``n`` kernels of each of four kinds: tuned GEMM, convolution, library product, row-wise."""
    rng = np.random.default_rng(seed)

    def pick(*values: int) -> Any:
        return rng.choice(values, n)

    makers = (_gemm, _convolution, _library, _rowwise)
    return KernelTable.concat([maker(pick, n, rng) for maker in makers])


def _gemm(pick: Pick, n: int, rng: np.random.Generator) -> KernelTable:
    threads_m, threads_n = pick(8, 16, 32), pick(8, 16, 32)
    lanes_m, lanes_n = pick(1, 2, 4), pick(1, 2, 4)
    parameters = {
        "MDIMC": threads_m, "NDIMC": threads_n, "MDIMA": threads_m, "NDIMB": threads_m,
        "VWM": lanes_m, "VWN": lanes_n, "KWG": np.full(n, 32),
        "MWG": threads_m * lanes_m * pick(1, 2, 4),
        "NWG": np.lcm(threads_m, threads_n) * lanes_n * pick(1, 2),
        "SA": pick(0, 1), "SB": pick(0, 1),
    }  # fmt: skip
    return clblast_gemm(parameters, 2048, 2048, 1024)


def _convolution(pick: Pick, n: int, rng: np.random.Generator) -> KernelTable:
    return convolution_2d(
        pick(16, 32, 48, 64), pick(2, 4, 8), pick(1, 2, 3, 4), pick(1, 2, 4),
        staged=pick(0, 1), padded=pick(0, 1), height=1024, width=1024, filter_size=5,
    )  # fmt: skip


def _library(pick: Pick, n: int, rng: np.random.Generator) -> KernelTable:
    size = rng.integers(16, 3000, (3, n))
    tensor = bool(rng.integers(2))
    return library_gemm(
        *size, pick(64, 128), pick(64, 128), pick(128, 256), batch=pick(1, 8),
        bits=16 if tensor else 32, tensor_core=tensor, k_contiguous=bool(rng.integers(2)),
    )  # fmt: skip


def _rowwise(pick: Pick, n: int, rng: np.random.Generator) -> KernelTable:
    return rowwise(
        rng.integers(1, 50_000, n), rng.integers(1, 5_000, n), pick(64, 128, 256, 512),
        reads=pick(1, 2, 3), alu_ops=4, special_ops=1, thread_ops=50,
    )  # fmt: skip
