"""Measurement backends: what gives a candidate its latencies or its failure.

The simulated backend is the chip's simulator; real hardware comes in through the same interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hwsim.backends import simulate
from hwsim.chip import Chip
from hwsim.farm import trial_seconds
from hwsim.noise import measure as noisy
from hwsim.outcome import Outcome, outcomes
from hwsim.result import Failure
from hwsim.table import KernelTable
from traces import Measurement
from tuner import tir
from tuner.problem import Handle
from tuner.workloads import Workload


@dataclass(frozen=True)
class Job:
    """A candidate to measure: its hash and the handle of its schedule."""

    candidate: str
    handle: Handle


class Backend(Protocol):
    """Measures candidates; a failure is an answer, never an exception."""

    name: str

    def measure(self, jobs: Sequence[Job]) -> list[Measurement]:
        """One measurement a job, in order."""
        ...


class SimBackend:
    """The chip's simulator behind the interface of a real board.

    The schedule is lowered to its kernel table by reading the scheduled TIR (the reference road),
    simulated, and measured ``repeats`` times with the chip's noise.  Noise-free outcomes are
    remembered by candidate; arms and seeds of a benchmark share them through ``memory``.
    """

    name = "sim"

    def __init__(
        self,
        workload: Workload,
        chip: Chip,
        *,
        repeats: int,
        seed: int,
        memory: dict[str, Outcome] | None = None,
    ) -> None:
        self._workload, self._chip = workload, chip
        self._repeats, self._seed = repeats, seed
        self._memory: dict[str, Outcome] = {} if memory is None else memory

    def measure(self, jobs: Sequence[Job]) -> list[Measurement]:
        """One measurement a job; the same seed and candidate give the same latencies."""
        if not jobs:
            return []
        self._remember([job for job in jobs if job.candidate not in self._memory])
        known = [self._memory[job.candidate] for job in jobs]
        true_us = np.array([o.latency_us for o in known])
        keys = [job.candidate for job in jobs]
        drawn = noisy(true_us, keys, self._repeats, self._seed, self._chip.noise)
        failure = np.array([int(o.failure) for o in known])
        unroll = np.array([o.unroll_copies for o in known])
        compile_s, run_s = trial_seconds(true_us, unroll, failure, self._repeats, self._chip.bench)
        return [
            measurement(o, drawn[i].tolist(), compile_s[i], run_s[i]) for i, o in enumerate(known)
        ]

    def _remember(self, jobs: Sequence[Job]) -> None:
        if not jobs:
            return
        backend = self._chip.backend
        tables = [tir.kernels(j.handle.schedule, self._workload, backend) for j in jobs]
        table = KernelTable.concat(tables)
        for job, outcome in zip(jobs, outcomes(table, simulate(table, self._chip)), strict=True):
            self._memory[job.candidate] = outcome


def measurement(
    outcome: Outcome, latencies_us: list[float], compile_s: float, run_s: float
) -> Measurement:
    """The log's form of an outcome; numbers rounded to what a reader can use."""
    failed = outcome.failure != Failure.ok
    return Measurement(
        latencies_us=[] if failed else [_short(v) for v in latencies_us],
        failure=outcome.failure.name if failed else None,
        error=outcome.error,
        bottleneck=None if failed else outcome.bottleneck,
        counters={} if failed else {k: _short(v) for k, v in outcome.counters.items()},
        compile_s=_short(compile_s),
        run_s=_short(run_s),
    )


def _short(value: float) -> float:
    return float(f"{value:.6g}")
