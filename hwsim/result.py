"""What a simulator answers for a kernel table: latency or failure, bottleneck, counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

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
    def joined(cls, parts: Iterable[SimResult], rows: Sequence[int]) -> SimResult:
        """Answers of one simulator for ``rows`` kernels each, one after the other.

        Columns of a part may be ``(1,)`` where all its kernels have the same.  Those of the result
        are rows of one array: getting memory from the system takes longer than filling it, and
        least in one large piece.
        """
        columns: list[NDArray[Any]] = []
        end = 0
        for part, n in zip(parts, rows, strict=True):
            found = part._columns()
            if not columns:
                store = np.empty((len(found), sum(rows)))  # all dtypes are of 8 bytes
                columns = [row.view(c.dtype) for row, c in zip(store, found, strict=True)]
            for whole, column in zip(columns, found, strict=True):
                whole[end : end + n] = column
            end += n
        return part._with_columns(columns)

    def _columns(self) -> list[NDArray[Any]]:
        needs, haves = [x.need for x in self.limits], [x.have for x in self.limits]
        answer = (self.latency_us, self.failure, self.failed_limit, self.bottleneck)
        return [*answer, *needs, *haves, *self.counters.values()]

    def _with_columns(self, columns: Sequence[NDArray[Any]]) -> SimResult:
        latency_us, failure, failed_limit, bottleneck, *rest = columns
        k = len(self.limits)
        limits = zip(self.limits, rest[:k], rest[k : 2 * k], strict=True)
        return replace(
            self,
            latency_us=latency_us,
            failure=failure,
            failed_limit=failed_limit,
            limits=tuple(replace(x, need=need, have=have) for x, need, have in limits),
            bottleneck=bottleneck,
            counters=dict(zip(self.counters, rest[2 * k :], strict=True)),
        )


def first_exceeded(limits: tuple[Limit, ...], n: int) -> tuple[IntColumn, IntColumn]:
    """``(failure, failed_limit)`` columns: the first limit in order that each row exceeds."""
    failure = np.zeros(n, dtype=np.int64)
    failed = np.full(n, -1, dtype=np.int64)
    for i, limit in enumerate(limits):
        exceeded = limit.need > limit.have
        if exceeded.any():
            hit = exceeded & (failed < 0)
            failed[hit] = i
            failure[hit] = int(limit.failure)
    return failure, failed


def longest(times: Sequence[FloatColumn], n: int) -> IntColumn:
    """Number of the largest of ``times`` (0 or more, NaN as 0) in each of ``n`` rows, the first of
    equals.
    """
    found, most = np.zeros(n, dtype=np.int8), np.fmax(times[0], 0)
    for number, time in enumerate(times[1:], 1):
        np.maximum(found, (time > most) * np.int8(number), out=found)
        most = np.fmax(most, time)
    return found.astype(np.int64)
