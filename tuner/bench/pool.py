"""Groups over processes: progress comes back through a queue, Ctrl-C ends runs between rounds."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tuner.bench.cells import GroupResult
from tuner.bench.group import run_group
from tuner.bench.plan import Group, Plan
from tuner.hardware import SIM
from tuner.interrupt import Interrupt

Message = tuple[str, int, int, int, float, bool]  # run, measured, pruned, failed, best_us, finished
POLL_S = 0.2

_link: tuple[Any, Any] | None = None  # of a worker: queue of messages, event that says stop


class WorkerError(ValueError):
    """A worker process that died; the message is one line for the user."""


def run_groups(
    plan: Plan,
    out: Path,
    resume: bool,
    tell: Callable[[Message], None],
    stopping: Callable[[], None] = lambda: None,
) -> list[GroupResult]:
    """Run every group; ``tell`` hears of every round, ``stopping`` of an interrupt.

    The first error of a group is raised once all have come to a stop between two rounds.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C; the same holds.  A second one ends the processes at once.
    WorkerError
        A process died, for want of memory mostly.
    """
    context = multiprocessing.get_context("spawn")
    messages, stop = context.Queue(), context.Event()
    workers = min(len(plan.groups()), os.cpu_count() or 1) if plan.backend == SIM else 1
    with (
        Interrupt(_end_children) as interrupted,
        ProcessPoolExecutor(workers, context, _start, (messages, stop)) as pool,
    ):
        with _inherited_ignorance():
            futures = [pool.submit(_work, plan, g, out, resume) for g in plan.groups()]
        while not all(f.done() for f in futures):
            for message in _drain(messages):
                tell(message)
            if not stop.is_set() and (interrupted() or any(map(_failed, futures))):
                stop.set()
                stopping()
    if interrupted():
        raise KeyboardInterrupt
    try:
        return [f.result() for f in futures]
    except BrokenProcessPool:
        raise WorkerError(
            f"a worker process died (out of memory?); go on with --out {out} --resume"
        ) from None


def _end_children() -> None:
    for process in multiprocessing.active_children():
        process.terminate()


@contextmanager
def _inherited_ignorance() -> Iterator[None]:
    """Ctrl-C goes to the whole terminal and would end workers as they start, so they inherit this.

    All of them are started by the first task that is submitted.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start(messages: Any, stop: Any) -> None:
    """Workers leave Ctrl-C to the parent, and use one thread each."""
    global _link
    _link = messages, stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TVM_NUM_THREADS"):
        os.environ[name] = "1"


def _work(plan: Plan, group: Group, out: Path, resume: bool) -> GroupResult:
    assert _link is not None
    messages, stop = _link
    if stop.is_set():
        return GroupResult()
    return run_group(plan, group, out, resume, lambda *state: messages.put(state), stop.is_set)


def _failed(future: Future[GroupResult]) -> bool:
    return future.done() and future.exception() is not None


def _drain(messages: Any) -> Iterator[Message]:
    """What has come in, after waiting a little for it."""
    try:
        yield messages.get(timeout=POLL_S)
        while True:
            yield messages.get_nowait()
    except queue.Empty:
        return
