"""Library matrix multiplications whose tile is not known: the fastest of the usual kernels.

A library's heuristics pick among a few tiles and splits of the reduction; here the simulator does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hwsim.gpu_sm.analytical import simulate
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.library import library_gemm
from hwsim.table import KernelTable

# Block tile m, n, threads, slices; those of cuBLAS kernels that public profiles name.
_SIMT = (
    (128, 128, 256, 1), (128, 64, 128, 1), (64, 128, 128, 1), (64, 64, 64, 1),
    (128, 32, 256, 1), (32, 128, 256, 1), (32, 32, 128, 4), (32, 64, 256, 4),
)  # fmt: skip
_TENSOR = (
    (256, 128, 256, 1), (128, 256, 256, 1), (128, 128, 128, 1), (64, 128, 128, 1),
    (128, 64, 128, 1), (64, 64, 128, 1), (32, 128, 128, 1), (128, 32, 128, 1),
)  # fmt: skip
_SPLITS = (1, 2, 4, 8, 16)


def fastest_library_gemm(
    m: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    chip: GpuChip,
    *,
    bits: int = 32,
    tensor_core: bool = False,
) -> KernelTable:
    """Table ``(rows,)`` with the fastest known kernel on ``chip`` for each problem."""
    options = [
        library_gemm(
            m, n, k, *tile[:3], slices=tile[3], split_k=split, bits=bits, tensor_core=tensor_core
        )
        for tile in (_TENSOR if tensor_core else _SIMT)
        for split in _SPLITS
    ]  # fmt: skip
    latency = np.stack([simulate(table, chip).latency_us for table in options])
    best = latency.argmin(axis=0)
    rows = len(best)
    every = KernelTable.concat(options)
    chosen = every.take(best * rows + np.arange(rows))
    columns = {**chosen.columns, "candidate": np.arange(rows)}
    return KernelTable("gpu_sm", rows, columns)
