"""The measuring farm: what trials would have cost in time on real boards (the virtual clock)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from hwsim.chip import BenchCost, Chip
from hwsim.result import Failure, FloatColumn, IntColumn


def with_farm(chip: Chip, boards: int = 0, compile_workers: int = 0) -> Chip:
    """The chip with a farm of another size; 0 keeps what the chip file says."""
    changed = {"boards": boards, "compile_workers": compile_workers}
    bench = msgspec.structs.replace(chip.bench, **{k: v for k, v in changed.items() if v})
    return msgspec.structs.replace(chip, bench=bench)


def trial_seconds(
    latency_us: FloatColumn,
    unroll_copies: ArrayLike,
    failure: IntColumn,
    repeats: int,
    bench: BenchCost,
) -> tuple[FloatColumn, FloatColumn]:
    """``(compile_s, run_s)``, each ``(n,)``: what one worker and one board spend on each trial.

    A compile error costs its compilation and no board; a launch error the upload and the session;
    a time-out all of ``timeout_s``.  A kernel that runs is repeated until ``min_run_s`` has passed,
    ``repeats`` times, after one warm-up launch; beyond ``timeout_s`` it is given up.
    """
    compile_s = bench.compile_s + bench.compile_s_per_unroll * np.asarray(unroll_copies, float)
    latency_s = np.where(np.isfinite(latency_us), latency_us, 0.0) * 1e-6
    timed = np.maximum(latency_s, bench.min_run_s) * repeats + latency_s
    timed = np.where(failure == Failure.ok, timed, 0.0)
    timed = np.where(failure == Failure.timeout, bench.timeout_s, timed)
    setup_s = bench.upload_s + bench.run_overhead_s
    run_s = np.minimum(setup_s + timed, setup_s + bench.timeout_s)
    run_s = np.where(failure == Failure.compile_error, 0.0, run_s)
    return np.broadcast_to(compile_s, run_s.shape).copy(), run_s


@dataclass(frozen=True)
class Farm:
    """The compile workers and boards of a tuning host, on virtual time."""

    bench: BenchCost

    def batch_seconds(self, compile_s: ArrayLike, run_s: ArrayLike) -> float:
        """Virtual seconds from the first compilation to the last measurement of a batch.

        ``compile_s`` and ``run_s`` are ``(n,)``.  Trials are compiled in order by whichever worker
        is free first and measured as they come out by whichever board is free first; the next batch
        starts when this one has ended, as in MetaSchedule.
        """
        compiles = np.asarray(compile_s, dtype=np.float64).tolist()
        built = _list_schedule([(0.0, c) for c in compiles], self.bench.compile_workers)
        runs = np.asarray(run_s, dtype=np.float64).tolist()
        ready = sorted((b, r) for b, r in zip(built, runs, strict=True) if r > 0)
        return max([*built, *_list_schedule(ready, self.bench.boards)], default=0.0)


def _list_schedule(jobs: Sequence[tuple[float, float]], machines: int) -> list[float]:
    """End of each ``(ready_s, duration_s)`` job, each in order on the first free machine."""
    free = [0.0] * machines
    ends: list[float] = []
    for ready, duration in jobs:
        end = max(ready, heapq.heappop(free)) + duration
        heapq.heappush(free, end)
        ends.append(end)
    return ends
