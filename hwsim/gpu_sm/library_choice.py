"""Library matrix multiplications whose kernel is not known: the fastest of those it is known for.

Libraries choose among a few block tiles and splits of the reduction by measured heuristics, which
come near the best of them; here it is the best by the analytical model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hwsim.chip import Chip
from hwsim.gpu_sm.analytical import simulate
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.library import library_gemm
from hwsim.table import KernelTable

# (tile_m, tile_n, threads, slices): cuBLAS's fp32 kernels by their names and launches.
SIMT_TILES = (
    (128, 128, 256, 1), (64, 128, 128, 1), (64, 64, 64, 1), (128, 32, 256, 1), (32, 128, 256, 1),
    (32, 64, 256, 4), (32, 128, 256, 4), (32, 32, 128, 4),
)  # fmt: skip
# CUTLASS's default tiles for tensor cores, a warp for every 64 x 64 or 32 x 64.
TENSOR_TILES = (
    (128, 256, 256, 1), (256, 128, 256, 1), (128, 128, 128, 1), (64, 256, 128, 1),
    (256, 64, 128, 1), (128, 64, 128, 1), (64, 128, 128, 1), (64, 64, 128, 1),
)  # fmt: skip
SPLITS = (1, 2, 4, 8, 16, 32)
_DP4A = np.array([4])  # MACs of one int8 instruction outside the tensor cores
_LEAST_STEPS = 256  # reduction that a split leaves each of its parts, at least


def fastest_gemm(
    m: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    chip: Chip,
    *,
    batch: ArrayLike = 1,
    bits: int = 32,
    tensor_core: bool | None = None,
    bias: bool = False,
    k_contiguous: bool = False,
) -> KernelTable:
    """One row an entry of ``m, n, k`` ``(n,)``; tensor cores by default for up to 16 bits.

    Raises
    ------
    ValueError
        ``chip`` is no GPU.
    """
    if not isinstance(chip, GpuChip):
        raise ValueError(f"chip {chip.name!r}: expected a GPU")
    tensor = tensor_core if tensor_core is not None else bits <= 16 and bool(chip.tensor_macs_sm)
    m_, n_, k_, batch_ = (
        np.asarray(a, np.int64) for a in np.broadcast_arrays(*map(np.atleast_1d, (m, n, k, batch)))
    )
    tables, latencies = [], []
    for tile_m, tile_n, threads, slices in TENSOR_TILES if tensor else SIMT_TILES:
        for split in SPLITS:
            table = library_gemm(
                m_, n_, k_, tile_m, tile_n, threads, batch=batch_, slices=slices, split_k=split,
                bits=bits, tensor_core=tensor, bias=bias, k_contiguous=k_contiguous,
            )  # fmt: skip
            if bits == 8 and not tensor:
                table = KernelTable(table.backend, table.n, {**table.columns, "intrin_k": _DP4A})
            tables.append(table)
            latencies.append(_latency_us(table, chip, k_, split))
    chosen = np.argmin(latencies, axis=0)
    rows = len(m_)
    return KernelTable.concat(tables).take_candidates(chosen * rows + np.arange(rows))


def _latency_us(
    table: KernelTable, chip: GpuChip, k: NDArray[np.int64], split: int
) -> NDArray[np.float64]:
    """Predicted latency; infinite for a split that leaves too little to each part."""
    whole = (split == 1) | (k >= split * _LEAST_STEPS)
    return np.where(whole, simulate(table, chip).latency_us, np.inf)
