"""Groups over processes: progress comes back through a queue, Ctrl-C ends runs between rounds."""

from __future__ import annotations

import multiprocessing
import os
import queue
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from tuner.bench.group import GroupResult, run_group
from tuner.bench.plan import Group, Plan

Message = tuple[str, int, int, int, float]  # run, measured, pruned, failed, best_us
POLL_S = 0.2


def run_groups(
    plan: Plan, out: Path, resume: bool, tell: Callable[[Message], None]
) -> list[GroupResult | None]:
    """Run every group; ``None`` for those that an interrupt kept from starting.

    The first error of a group is raised once the others have come to a stop.
    """
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        messages, stop = manager.Queue(), manager.Event()
        workers = min(len(plan.groups()), os.cpu_count() or 1)
        with ProcessPoolExecutor(workers, mp_context=context, initializer=_start) as pool:
            futures = [
                pool.submit(_work, plan, group, out, resume, messages, stop)
                for group in plan.groups()
            ]
            try:
                _watch(futures, messages, tell)
            except BaseException:
                stop.set()
                for future in futures:
                    future.cancel()
                raise
            finally:
                for message in _drain(messages):
                    tell(message)
        return [None if f.cancelled() else f.result() for f in futures]


def _start() -> None:
    """Workers leave Ctrl-C to the parent, and use one thread each."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TVM_NUM_THREADS"):
        os.environ[name] = "1"


def _work(
    plan: Plan, group: Group, out: Path, resume: bool, messages: Any, stop: Any
) -> GroupResult:
    def report(*message: Any) -> None:
        messages.put(message)

    return run_group(plan, group, out, resume, report, stop.is_set)


def _watch(
    futures: list[Future[GroupResult]], messages: Any, tell: Callable[[Message], None]
) -> None:
    while not all(f.done() for f in futures):
        for message in _drain(messages, POLL_S):
            tell(message)
        for future in futures:
            if future.done() and future.exception() is not None:
                future.result()


def _drain(messages: Any, timeout_s: float = 0.0) -> Iterator[Message]:
    try:
        while True:
            yield messages.get(timeout_s > 0, timeout_s or None)
    except queue.Empty:
        return
