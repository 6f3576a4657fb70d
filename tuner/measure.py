"""Measurement backends: what gives a candidate its latencies or its failure.

The simulated backend is the chip's simulator; real hardware comes in through the same interface.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hwsim.backends import simulate
from hwsim.chip import Chip
from hwsim.farm import trial_seconds
from hwsim.noise import measure as noisy
from hwsim.outcome import Outcome, outcomes
from hwsim.result import Failure, FloatColumn
from hwsim.table import KernelTable
from traces import Measurement
from tuner import tir
from tuner.problem import Handle
from tuner.workloads import Workload

ROUNDING = 1 + 1e-5  # logs keep six digits: what may come out as a new best is confirmed as well
DISAGREE = "candidate %s: the columns road says %s, the replayed schedule %s, which stands"

_log = logging.getLogger("prunelab.measure")

FloatMatrix = NDArray[np.float64]


@dataclass(frozen=True)
class Job:
    """A candidate to measure: its hash and the handle of its schedule.

    ``kernels`` is its kernel table of the columns road, None where it has to be replayed.
    """

    candidate: str
    handle: Handle
    kernels: KernelTable | None = None


class Backend(Protocol):
    """Measures candidates; a failure is an answer, never an exception."""

    @property
    def name(self) -> str:
        """What the header of a log calls it."""
        ...

    @property
    def needs_schedule(self) -> bool:
        """Whether it takes replayed schedules only; a simulator takes kernel tables."""
        ...

    def measure(self, jobs: Sequence[Job], best_us: float = 0.0) -> list[Measurement]:
        """One measurement a job, in order.

        ``best_us`` is the best mean so far.  What comes out below it, or below one of ``jobs``
        before, is run once more and is the mean of both runs: of many measurements the least one is
        mostly the luckiest.
        """
        ...


@dataclass(frozen=True)
class Recalled:
    """A backend that measures nothing twice: ``known`` holds what an earlier attempt measured."""

    backend: Backend
    known: Mapping[str, Measurement]

    @property
    def name(self) -> str:
        """The backend's name."""
        return self.backend.name

    @property
    def needs_schedule(self) -> bool:
        """As the backend says."""
        return self.backend.needs_schedule

    def measure(self, jobs: Sequence[Job], best_us: float = 0.0) -> list[Measurement]:
        """One measurement a job, in order, from memory where it is there."""
        found: list[Measurement] = []
        for remembered, some in groupby(jobs, lambda job: job.candidate in self.known):
            if remembered:
                found += [self.known[job.candidate] for job in some]
            else:
                found += self.backend.measure(list(some), best_us)
            best_us = min([best_us, *(m.mean_us for m in found)])
        return found


@dataclass(frozen=True)
class Memory:
    """Noise-free outcomes by candidate: as ``simulated``, and as ``confirmed`` by a replay."""

    simulated: dict[str, Outcome] = field(default_factory=dict)
    confirmed: dict[str, Outcome] = field(default_factory=dict)


class SimBackend:
    """The chip's simulator behind the interface of a real board.

    A candidate that comes with its kernel table is simulated as it is; any other one is replayed
    and read from the scheduled TIR (the reference road).  Before a candidate counts as the best of
    a run it is replayed all the same: what TVM and the reference road say of it is what stands, so
    that nothing is delivered, and nothing compared against, that only the columns vouch for.

    ``repeats`` measurements, of a new best twice as many, carry the chip's noise.  Noise-free
    outcomes are remembered by candidate; the arms and seeds of a benchmark share them through
    ``memory``.  A schedule that the analysis cannot read is a compile error with the analysis'
    reason.

    ``workload`` counts the useful operations for the counters; None takes those that are executed.
    """

    name = "sim"
    needs_schedule = False

    def __init__(
        self,
        workload: Workload | None,
        chip: Chip,
        *,
        repeats: int,
        seed: int,
        memory: Memory | None = None,
    ) -> None:
        self._workload, self._chip = workload, chip
        self._repeats, self._seed = repeats, seed
        self._memory = memory or Memory()

    def measure(self, jobs: Sequence[Job], best_us: float = 0.0) -> list[Measurement]:
        """One measurement a job; the same seed and candidate give the same latencies."""
        if not jobs:
            return []
        found = self._simulated(jobs)
        drawn = list(self._drawn(jobs, found))
        for i, job in enumerate(jobs):
            if drawn[i].mean() < best_us * ROUNDING:
                found[i] = self._confirmed(job)
                drawn[i] = self._drawn([job], [found[i]], runs=2)[0]
                best_us = min(best_us, float(drawn[i].mean()))
        return self._measurements(found, drawn)

    def _drawn(self, jobs: Sequence[Job], found: Sequence[Outcome], runs: int = 1) -> FloatMatrix:
        """Noisy latencies ``(n, runs * repeats)``, ``inf`` for failures.

        The first of two runs reads as it does alone.
        """
        true_us = np.array([o.latency_us for o in found])
        keys = [job.candidate for job in jobs]
        return noisy(true_us, keys, runs * self._repeats, self._seed, self._chip.noise)

    def _measurements(
        self, found: Sequence[Outcome], drawn: Sequence[FloatColumn]
    ) -> list[Measurement]:
        true_us = np.array([o.latency_us for o in found])
        failure = np.array([int(o.failure) for o in found])
        unroll = np.array([o.unroll_copies for o in found])
        compile_s, run_s = trial_seconds(true_us, unroll, failure, self._repeats, self._chip.bench)
        run_s = run_s * [len(readings) // self._repeats for readings in drawn]
        return [
            measurement(o, drawn[i].tolist(), compile_s[i], run_s[i]) for i, o in enumerate(found)
        ]

    def _simulated(self, jobs: Sequence[Job]) -> list[Outcome]:
        """What is known of each job, by the cheapest road."""
        known = self._memory.simulated
        tables = {j.candidate: j.kernels for j in jobs if j.kernels and j.candidate not in known}
        if tables:
            table = KernelTable.concat(list(tables.values()))
            found = outcomes(table, simulate(table, self._chip))
            known.update(zip(tables, found, strict=True))
        return [known[j.candidate] if j.kernels else self._confirmed(j) for j in jobs]

    def _confirmed(self, job: Job) -> Outcome:
        """What TVM and the reference road say of a candidate."""
        known = self._memory.confirmed
        if job.candidate not in known:
            known[job.candidate] = self._replayed(job)
            columns = self._memory.simulated.get(job.candidate, known[job.candidate])
            if columns.latency_us != known[job.candidate].latency_us:
                _log.warning(DISAGREE, job.candidate, _said(columns), _said(known[job.candidate]))
        return known[job.candidate]

    def _replayed(self, job: Job) -> Outcome:
        lowered = job.handle.lowered()
        if lowered.rejection is not None:
            return _unreadable(lowered.rejection.reason)
        try:
            table = tir.kernels(lowered.schedule, self._workload, self._chip.backend)
        except tir.Unsupported as reason:
            return _unreadable(str(reason))
        return outcomes(table, simulate(table, self._chip))[0]


def _said(outcome: Outcome) -> str:
    return outcome.error or f"{outcome.latency_us:.6g} us"


def _unreadable(reason: str) -> Outcome:
    return Outcome(
        latency_us=np.inf,
        failure=Failure.compile_error,
        error=f"compile_error: {reason}",
        bottleneck="",
        counters={},
        unroll_copies=0.0,
    )


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
