"""Measurement backends: what gives a candidate its latencies or its failure.

The simulated backend is the chip's simulator; real hardware comes in through the same interface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

    @property
    def name(self) -> str:
        """What the header of a log calls it."""
        ...

    def measure(self, jobs: Sequence[Job]) -> list[Measurement]:
        """One measurement a job, in order."""
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

    def measure(self, jobs: Sequence[Job]) -> list[Measurement]:
        """One measurement a job, in order, from memory where it is there."""
        fresh = [job for job in jobs if job.candidate not in self.known]
        measured = zip([j.candidate for j in fresh], self.backend.measure(fresh), strict=True)
        found = dict(measured)
        return [found.get(j.candidate) or self.known[j.candidate] for j in jobs]


class SimBackend:
    """The chip's simulator behind the interface of a real board.

    The schedule is lowered to its kernel table by reading the scheduled TIR (the reference road),
    simulated, and measured ``repeats`` times with the chip's noise.  Noise-free outcomes are
    remembered by candidate; arms and seeds of a benchmark share them through ``memory``.  A
    schedule that the analysis cannot read is a compile error with the analysis' reason.

    ``workload`` counts the useful operations for the counters; None takes those that are executed.
    """

    name = "sim"

    def __init__(
        self,
        workload: Workload | None,
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
        read: dict[str, KernelTable] = {}
        for job in jobs:
            try:
                read[job.candidate] = self._kernels(job)
            except tir.Unsupported as reason:
                self._memory[job.candidate] = _unreadable(str(reason))
        if read:
            table = KernelTable.concat(list(read.values()))
            found = outcomes(table, simulate(table, self._chip))
            self._memory.update(zip(read, found, strict=True))

    def _kernels(self, job: Job) -> KernelTable:
        return tir.kernels(job.handle.schedule, self._workload, self._chip.backend)


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
