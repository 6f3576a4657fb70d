"""The measuring farm: what trials would have cost in time on real boards (the virtual clock)."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import simpy
from numpy.typing import ArrayLike

from hwsim.chip import BenchCost, Chip
from hwsim.result import Failure, FloatColumn, IntColumn, Limit


def with_farm(chip: Chip, boards: int = 0, compile_workers: int = 0) -> Chip:
    """The chip with a farm of another size; 0 keeps what the chip file says."""
    changed = {"boards": boards, "compile_workers": compile_workers}
    bench = msgspec.structs.replace(chip.bench, **{k: v for k, v in changed.items() if v})
    return msgspec.structs.replace(chip, bench=bench)


def compile_time(unroll_copies: FloatColumn, bench: BenchCost) -> Limit:
    """The builder kills a compilation after ``compile_timeout_s``; ``unroll_copies`` ``(n,)``."""
    need = _compile_s(unroll_copies, bench)
    have = np.array([bench.compile_timeout_s])
    return Limit("compile_time", Failure.compile_error, need, have, "s")


def run_time(latency_us: FloatColumn, bench: BenchCost) -> Limit:
    """The runner gives a kernel up that runs longer than ``timeout_s``; ``latency_us`` ``(n,)``."""
    have = np.array([bench.timeout_s * 1e6])
    return Limit("run_time", Failure.timeout, latency_us, have, "us")


def trial_seconds(
    latency_us: FloatColumn,
    unroll_copies: ArrayLike,
    failure: IntColumn,
    repeats: int,
    bench: BenchCost,
) -> tuple[FloatColumn, FloatColumn]:
    """``(compile_s, run_s)``, each ``(n,)``: how long each trial holds a worker and a board.

    A compile error costs its compilation, at most ``compile_timeout_s``, and no board; a launch
    error the upload and the session; a time-out all of ``timeout_s``.  A kernel that runs is
    repeated until ``min_run_s`` has passed, ``repeats`` times, after one warm-up launch; beyond
    ``timeout_s`` it is given up.
    """
    compile_s = np.minimum(_compile_s(unroll_copies, bench), bench.compile_timeout_s)
    latency_s = np.where(np.isfinite(latency_us), latency_us, 0.0) * 1e-6
    timed = np.maximum(latency_s, bench.min_run_s) * repeats + latency_s
    timed = np.where(failure == Failure.ok, timed, 0.0)
    timed = np.where(failure == Failure.timeout, bench.timeout_s, timed)
    setup_s = bench.upload_s + bench.run_overhead_s
    run_s = setup_s + np.minimum(timed, bench.timeout_s)
    run_s = np.where(failure == Failure.compile_error, 0.0, run_s)
    return np.broadcast_to(compile_s, run_s.shape).copy(), run_s


def _compile_s(unroll_copies: ArrayLike, bench: BenchCost) -> FloatColumn:
    return bench.compile_s + bench.compile_s_per_unroll * np.asarray(unroll_copies, np.float64)


@dataclass(frozen=True)
class Farm:
    """The compile workers and boards of a tuning host as a discrete-event model, on virtual time.

    A batch goes through it as through MetaSchedule's ``LocalBuilder`` and ``RPCRunner``: the
    builder compiles all of it before the runner gets any (``build`` and ``run`` each take the whole
    list), and the next batch starts when this one has ended.  Within a stage each worker, or
    board, takes the next trial of the queue as soon as it is free.  More of either is therefore
    never slower; were trials measured as they come out of the compiler, a new worker could change
    their order and lengthen the batch.
    """

    bench: BenchCost

    def batch_seconds(self, compile_s: ArrayLike, run_s: ArrayLike) -> float:
        """Virtual seconds from the first compilation to the last measurement of a batch.

        ``compile_s`` and ``run_s`` are ``(n,)`` as of :func:`trial_seconds`; a trial with a
        ``run_s`` of 0 takes no board.
        """
        compiles = np.asarray(compile_s, dtype=np.float64).tolist()
        runs = [s for s in np.asarray(run_s, dtype=np.float64).tolist() if s > 0]
        env = simpy.Environment()
        env.run(env.process(self._batch(env, compiles, runs)))
        return float(env.now)

    def _batch(
        self, env: simpy.Environment, compiles: Sequence[float], runs: Sequence[float]
    ) -> Generator[simpy.Event, None, None]:
        yield _stage(env, compiles, self.bench.compile_workers)
        yield _stage(env, runs, self.bench.boards)


def _stage(env: simpy.Environment, seconds: Sequence[float], machines: int) -> simpy.Event:
    """The event that all of a queue is worked off by ``machines`` of a kind."""
    queue = iter(seconds)
    busy = min(machines, len(seconds))
    return env.all_of([env.process(_machine(env, queue)) for _ in range(busy)])


def _machine(env: simpy.Environment, queue: Iterable[float]) -> Generator[simpy.Event, None, None]:
    for seconds in queue:
        yield env.timeout(seconds)
