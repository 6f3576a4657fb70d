"""Bank conflicts and coalescing of GPU kernels, weighted over their streams."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hwsim.columns import GPU_STREAMS
from hwsim.gpu_sm.access import WIDEST_BYTES, access_of
from hwsim.gpu_sm.chip import BANK_BYTES, BANKS, SECTOR_BYTES, WARP
from hwsim.rows import Rows
from hwsim.table import KernelTable
from pruner.once import once_a_table

Floats = NDArray[np.float64]

SHARED_STREAMS = tuple(s for s in GPU_STREAMS if "shared" in s.split("_")[1:])
GLOBAL_STREAMS = tuple(s for s in GPU_STREAMS if "global" in s.split("_")[1:])


@once_a_table
def conflict_ways(table: KernelTable) -> Floats:
    """``(n,)`` wavefronts of the shared-memory accesses over those without a conflict, >= 1."""
    taken, ideal, rows = np.zeros(table.n), np.zeros(table.n), Rows(table)
    for stream in SHARED_STREAMS:
        if f"{stream}_count" in table.columns and stream in _with_access(table):
            access = access_of(rows, stream)
            weight = table[f"{stream}_count"] * access.split
            taken += weight * access.wavefronts
            ideal += weight * np.minimum(_ideal_wavefronts(table, stream), access.wavefronts)
    return np.where(ideal > 0, taken / np.maximum(ideal, 1e-9), 1.0)


def sector_share(table: KernelTable) -> Floats:
    """``(n,)`` bytes that warps ask for over bytes of the 32 B sectors that they touch, <= 1."""
    asked, fetched, rows = np.zeros(table.n), np.zeros(table.n), Rows(table)
    for stream in GLOBAL_STREAMS:
        if f"{stream}_count" in table.columns and stream in _with_access(table):
            access = access_of(rows, stream)
            weight = table[f"{stream}_count"] * access.split
            asked += weight * np.minimum(_width(table, stream), WIDEST_BYTES) * WARP
            fetched += weight * access.sectors * SECTOR_BYTES
    return np.where(fetched > 0, np.minimum(asked / np.maximum(fetched, 1e-9), 1.0), 1.0)


def _with_access(table: KernelTable) -> frozenset[str]:
    """Streams whose spread over the threads is known."""
    return frozenset(s for s in GPU_STREAMS if f"{s}_stride1_bytes" in table.columns)


def _width(table: KernelTable, stream: str) -> Floats:
    return np.asarray(table[f"{stream}_lanes"] * table[f"{stream}_elem_bytes"], dtype=np.float64)


def _ideal_wavefronts(table: KernelTable, stream: str) -> Floats:
    width = np.minimum(_width(table, stream), WIDEST_BYTES)
    return np.maximum(np.ceil(width * WARP / (BANKS * BANK_BYTES)), 1.0)
