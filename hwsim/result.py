"""What a simulator answers for a kernel table: latency or failure, bottleneck, counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

FloatColumn = NDArray[np.float64]
IntColumn = NDArray[np.int64]


class Failure(IntEnum):
    """Why a kernel does not run; the names are those of the logs."""

    ok = 0
    compile_error = 1
    launch_error = 2
    timeout = 3


@dataclass(frozen=True)
class Limit:
    """A capacity that some rows exceed: ``need`` and ``have`` are ``(n,)`` in ``unit``."""

    name: str  # e.g. "l0a_capacity"
    failure: Failure
    need: FloatColumn
    have: FloatColumn
    unit: str  # "B", "threads", ...


@dataclass(frozen=True)
class SimResult:
    """Answer of a simulator for ``n`` kernels.

    ``latency_us`` is ``(n,)``, ``inf`` where ``failure`` is not ok.  ``failed_limit`` indexes
    ``limits`` (-1: none).  ``bottleneck`` indexes ``bottleneck_names``.  ``counters`` maps a name
    with its unit in it (``mte2_us``, ``hbm_bytes``, ``occupancy``) to ``(n,)``.
    """

    latency_us: FloatColumn
    failure: IntColumn
    failed_limit: IntColumn
    limits: tuple[Limit, ...]
    bottleneck: IntColumn
    bottleneck_names: tuple[str, ...]
    counters: Mapping[str, FloatColumn] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.latency_us)

    @classmethod
    def concat(cls, parts: Sequence[SimResult]) -> SimResult:
        """Answers of one simulator, of the same limits and counters, one after the other."""
        first = parts[0]
        if len(parts) == 1:
            return first
        return cls(
            latency_us=np.concatenate([p.latency_us for p in parts]),
            failure=np.concatenate([p.failure for p in parts]),
            failed_limit=np.concatenate([p.failed_limit for p in parts]),
            limits=tuple(map(_joined, zip(*(p.limits for p in parts), strict=True))),
            bottleneck=np.concatenate([p.bottleneck for p in parts]),
            bottleneck_names=first.bottleneck_names,
            counters={c: np.concatenate([p.counters[c] for p in parts]) for c in first.counters},
        )


def _joined(parts: tuple[Limit, ...]) -> Limit:
    need = np.concatenate([p.need for p in parts])
    return replace(parts[0], need=need, have=np.concatenate([p.have for p in parts]))


def first_exceeded(limits: tuple[Limit, ...], n: int) -> tuple[IntColumn, IntColumn]:
    """``(failure, failed_limit)`` columns: the first limit in order that each row exceeds."""
    failure = np.zeros(n, dtype=np.int64)
    failed = np.full(n, -1, dtype=np.int64)
    for i, limit in enumerate(limits):
        hit = (limit.need > limit.have) & (failed < 0)
        failed[hit] = i
        failure[hit] = int(limit.failure)
    return failure, failed
