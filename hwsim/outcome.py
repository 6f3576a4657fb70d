"""From the rows of a simulation to candidates: latency or failure, bottleneck, counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hwsim.result import Failure, FloatColumn, Limit, SimResult
from hwsim.table import KernelTable


@dataclass(frozen=True)
class Outcome:
    """What a candidate does on the chip, without noise.

    ``latency_us`` is the sum over its kernels, ``inf`` for a failure; ``error`` says in one line
    which limit failed, with need and have.  ``bottleneck`` and ``counters`` are those of its
    slowest kernel.  ``unroll_copies``: statement copies that explicit unrolling makes.
    """

    latency_us: float
    failure: Failure
    error: str | None
    bottleneck: str
    counters: Mapping[str, float]
    unroll_copies: float


def latencies_us(table: KernelTable, result: SimResult) -> FloatColumn:
    """Latency of each candidate, ``(n_candidates,)``; ``inf`` where one of its kernels fails."""
    return np.asarray(table.per_candidate(result.latency_us), dtype=np.float64)


def outcomes(table: KernelTable, result: SimResult) -> list[Outcome]:
    """One :class:`Outcome` a candidate, in order."""
    latency = latencies_us(table, result)
    ids = np.asarray(table["candidate"])
    unroll = table.per_candidate(table["unroll"], np.maximum)
    edges = np.searchsorted(ids, np.arange(table.n_candidates + 1))
    return [
        _outcome(result, range(edges[i], edges[i + 1]), float(latency[i]), float(unroll[i]))
        for i in range(table.n_candidates)
    ]


def _outcome(result: SimResult, rows: range, latency_us: float, unroll: float) -> Outcome:
    broken = [r for r in rows if result.failure[r] != Failure.ok]
    slowest = broken[0] if broken else max(rows, key=lambda r: result.latency_us[r])
    return Outcome(
        latency_us=latency_us,
        failure=Failure(int(result.failure[slowest])),
        error=error_line(result, slowest),
        bottleneck=result.bottleneck_names[int(result.bottleneck[slowest])],
        counters={name: float(column[slowest]) for name, column in result.counters.items()},
        unroll_copies=unroll,
    )


def error_line(result: SimResult, row: int) -> str | None:
    """``compile_error: l0a_capacity needs 131072 B, has 65536 B``, or None where the row works."""
    index = int(result.failed_limit[row])
    if index < 0:
        return None
    limit: Limit = result.limits[index]
    need, have = float(limit.need[row]), float(limit.have[row])
    sides = f"needs {need:.0f} {limit.unit}, has {have:.0f} {limit.unit}"
    return f"{limit.failure.name}: {limit.name} {sides}"
