"""Groups over processes: progress comes back through a queue, Ctrl-C ends runs between rounds."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tuner.bench.group import GroupResult, run_group
from tuner.bench.plan import Group, Plan

Message = tuple[str, int, int, int, float, bool]  # run, measured, pruned, failed, best_us, finished
POLL_S = 0.2


class WorkerError(ValueError):
    """A worker process that died; the message is one line for the user."""


def run_groups(
    plan: Plan, out: Path, resume: bool, tell: Callable[[Message], None]
) -> list[GroupResult]:
    """Run every group.

    The first error of a group, or a ``KeyboardInterrupt``, is raised once all have come to a stop
    between two rounds.

    Raises
    ------
    WorkerError
        A process died, for want of memory mostly.
    """
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        with _ignoring_interrupts():
            manager = stack.enter_context(context.Manager())
            messages, stop = manager.Queue(), manager.Event()
            workers = min(len(plan.groups()), os.cpu_count() or 1)
            pool = stack.enter_context(
                ProcessPoolExecutor(workers, mp_context=context, initializer=_start)
            )
            futures = [
                pool.submit(_work, plan, group, out, resume, messages, stop)
                for group in plan.groups()
            ]
        try:
            _watch(futures, messages, tell)
        except BrokenProcessPool:
            raise WorkerError(
                f"a worker process died (out of memory?); go on with --out {out} --resume"
            ) from None
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
        finally:
            for message in _drain(messages):
                tell(message)
        return [f.result() for f in futures]


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Children inherit it: Ctrl-C goes to the whole terminal, and would end them as they start."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start() -> None:
    """Workers leave Ctrl-C to the parent, and use one thread each."""
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
