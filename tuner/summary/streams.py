"""Streams: several movements of one kind become one row of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tuner.nest import IntColumn

_OFFCHIP_ONLY = ("unique_bytes", "align_bytes")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Movement:
    """One statement's part of a stream.

    ``count`` transfers of one block move ``block_bytes`` together; ``unique_bytes`` is what the
    kernel touches of ``tensor``; ``shape`` holds the columns that describe one transfer
    (``run_bytes``, alignment, on the GPU lanes and strides).
    """

    stream: str
    tensor: str
    count: IntColumn
    block_bytes: Floats
    unique_bytes: Floats
    shape: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)


def stream_columns(movements: Iterable[Movement], offchip: str) -> dict[str, NDArray[np.generic]]:
    """Columns of all streams.

    Counts and bytes of the movements of a stream add up, distinct bytes those of its tensors; runs
    are as long as their number demands.  What else describes one transfer is that of the movement
    with most bytes, the first of equals.  ``offchip`` is the name of the off-chip memory, whose
    streams have distinct bytes and alignments.
    """
    groups: dict[str, list[Movement]] = {}
    for m in movements:
        groups.setdefault(m.stream, []).append(m)
    out: dict[str, NDArray[np.generic]] = {}
    for stream, group in groups.items():
        kept = _merged(group)
        if offchip not in stream:
            kept = {name: c for name, c in kept.items() if name not in _OFFCHIP_ONLY}
        out |= {f"{stream}_{name}": c for name, c in kept.items()}
    return out


def _merged(group: list[Movement]) -> dict[str, NDArray[np.generic]]:
    count = reduce(np.add, (m.count for m in group))
    total = reduce(np.add, (m.block_bytes for m in group))
    best, shape = group[0].block_bytes, dict(group[0].shape)
    for m in group[1:]:
        larger = m.block_bytes > best
        shape = {name: np.where(larger, m.shape[name], c) for name, c in shape.items()}
        best = np.maximum(best, m.block_bytes)
    runs = sum(m.block_bytes / np.maximum(m.shape["run_bytes"], 1) for m in group)
    shape["run_bytes"] = total / np.maximum(runs, 1)
    distinct: dict[str, Floats] = {}
    for m in group:
        before = distinct.get(m.tensor, m.unique_bytes)
        distinct[m.tensor] = np.maximum(before, m.unique_bytes)
    unique = reduce(np.add, distinct.values())
    return {"count": count, "bytes": total / np.maximum(count, 1), "unique_bytes": unique, **shape}
