"""Data movement of a kernel summed over its streams, the same words on every backend."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hwsim.columns import ASCEND_STREAMS, CPU_STREAMS, GPU_STREAMS, MLU_STREAMS
from hwsim.table import KernelTable
from pruner.machine import blocks_of
from pruner.once import once_a_table

Floats = NDArray[np.float64]

_STREAMS = {
    "ascend_cube": ASCEND_STREAMS,
    "mlu_sram": MLU_STREAMS,
    "gpu_sm": GPU_STREAMS,
    "cpu": CPU_STREAMS,
}
_OFFCHIP = {"ascend_cube": "gm", "mlu_sram": "gdram", "gpu_sm": "global", "cpu": "memory"}


@dataclass(frozen=True)
class Traffic:
    """Columns ``(n,)`` of the whole kernel: off-chip and on-chip movement.

    ``run_bytes`` and ``transfer_bytes`` are means weighted by bytes: what a byte typically travels
    in.  ``shortest_bytes`` is the smallest transfer among the streams that carry a tenth or more of
    the off-chip bytes.  ``unique_bytes`` is each tensor counted once.
    """

    read_bytes: Floats
    write_bytes: Floats
    onchip_bytes: Floats
    unique_bytes: Floats
    transfers: Floats
    run_bytes: Floats
    transfer_bytes: Floats
    shortest_bytes: Floats

    @property
    def offchip_bytes(self) -> Floats:
        """Bytes read and written off chip."""
        return self.read_bytes + self.write_bytes


@cache
def streams_of(backend: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Names of the streams that read off chip, write off chip, and stay on chip."""
    scope = _OFFCHIP[backend]
    reads = tuple(s for s in _STREAMS[backend] if s.split("_")[1] == scope)
    writes = tuple(s for s in _STREAMS[backend] if s.split("_")[2] == scope)
    inside = tuple(s for s in _STREAMS[backend] if s not in reads + writes)
    return reads, writes, inside


def bytes_of(table: KernelTable, stream: str) -> Floats:
    """``(n,)`` bytes that a stream moves over the whole kernel; zeros where it is not used."""
    if f"{stream}_bytes" not in table.columns:
        return np.zeros(table.n)
    moved: Floats = table[f"{stream}_bytes"] * table[f"{stream}_count"] * blocks_of(table)
    return moved


@once_a_table
def traffic_of(table: KernelTable) -> Traffic:
    """Sum the streams of every row."""
    reads, writes, inside = streams_of(table.backend)
    moved = {s: bytes_of(table, s) for s in (*reads, *writes) if f"{s}_bytes" in table.columns}
    zero = np.zeros(table.n)
    read = sum((moved[s] for s in reads if s in moved), zero)
    write = sum((moved[s] for s in writes if s in moved), zero)
    total = np.maximum(read + write, 1e-9)
    weighted = {
        kind: sum((m * table[f"{s}_{kind}"] for s, m in moved.items()), zero) / total
        for kind in ("run_bytes", "bytes")
    }
    return Traffic(
        read_bytes=read,
        write_bytes=write,
        onchip_bytes=sum((bytes_of(table, s) for s in inside), zero),
        unique_bytes=sum((table[f"{s}_unique_bytes"] for s in moved), zero),
        transfers=sum((table[f"{s}_count"] * blocks_of(table) for s in moved), zero),
        run_bytes=weighted["run_bytes"],
        transfer_bytes=weighted["bytes"],
        shortest_bytes=_shortest(table, moved, total),
    )


def _shortest(table: KernelTable, moved: dict[str, Floats], total: Floats) -> Floats:
    shortest = np.full(table.n, np.inf)
    for stream, m in moved.items():
        counts = np.where(m >= 0.1 * total, table[f"{stream}_bytes"], np.inf)
        shortest = np.minimum(shortest, counts)
    return np.where(np.isfinite(shortest), shortest, 0.0)
