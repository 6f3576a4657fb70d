"""Simulated truth of candidates: what a board without noise would say, and TVM's verifier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.backends import simulate
from hwsim.outcome import latencies_us
from hwsim.result import Failure
from hwsim.table import KernelTable
from tuner.problem import Problem
from tuner.search import Pool

FloatColumn = NDArray[np.float64]
IntColumn = NDArray[np.int64]
BoolColumn = NDArray[np.bool_]


@dataclass(frozen=True)
class Truth:
    """Noise-free latency ``(n,)``, ``inf`` for failures, for what TVM's verifier ``rejects`` and
    for what cannot be read.

    ``failure`` ``(n,)`` is a :class:`hwsim.result.Failure`, of several kernels the gravest; what
    cannot be read does not compile.
    """

    latency_us: FloatColumn
    rejects: BoolColumn
    failure: IntColumn


def truth(problem: Problem, pool: Pool) -> Truth:
    """Simulate every candidate of a pool from its kernel table; nothing is replayed."""
    return truth_of(problem, *problem.read(pool))


def truth_of(problem: Problem, table: KernelTable, readable: BoolColumn) -> Truth:
    """The truth of ``(n,)`` candidates of which ``table`` holds those that are ``readable``."""
    n = len(readable)
    latency, rejects = np.full(n, np.inf), np.zeros(n, dtype=bool)
    failure = np.full(n, int(Failure.compile_error))
    if len(table):
        result = simulate(table, problem.chip)
        latency[readable] = latencies_us(table, result)
        rejects[readable] = problem.rejects(table)
        failure[readable] = table.per_candidate(result.failure, np.maximum)
    return Truth(np.where(rejects, np.inf, latency), rejects, failure)
