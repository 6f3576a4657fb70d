"""Streams: several movements of one kind become one row of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tuner.nest import IntColumn

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Movement:
    """One statement's part of a stream.

    ``count`` transfers of one block move ``block_bytes`` together; ``unique_bytes`` is what the
    kernel touches of the tensor; ``shape`` holds the columns that describe one transfer
    (``run_bytes``, and on the GPU lanes and strides).
    """

    stream: str
    count: IntColumn
    block_bytes: Floats
    unique_bytes: Floats
    shape: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)


def stream_columns(movements: Iterable[Movement], offchip: str) -> dict[str, NDArray[np.generic]]:
    """Columns of all streams.

    Counts, bytes and distinct bytes of the movements of a stream add up; what describes one
    transfer is that of the movement with most bytes, the first of equals.  ``offchip`` is the name
    of the off-chip memory, whose streams have distinct bytes.
    """
    groups: dict[str, list[Movement]] = {}
    for m in movements:
        groups.setdefault(m.stream, []).append(m)
    out: dict[str, NDArray[np.generic]] = {}
    for stream, group in groups.items():
        out |= {f"{stream}_{name}": c for name, c in _merged(group).items()}
        if offchip not in stream:
            del out[f"{stream}_unique_bytes"]
    return out


def _merged(group: list[Movement]) -> dict[str, NDArray[np.generic]]:
    count = np.asarray(sum(m.count for m in group))
    total = np.asarray(sum(m.block_bytes for m in group))
    best, shape = group[0].block_bytes, dict(group[0].shape)
    for m in group[1:]:
        larger = m.block_bytes > best
        shape = {name: np.where(larger, m.shape[name], c) for name, c in shape.items()}
        best = np.maximum(best, m.block_bytes)
    unique = np.asarray(sum(m.unique_bytes for m in group))
    return {"count": count, "bytes": total / np.maximum(count, 1), "unique_bytes": unique, **shape}
