"""Broken rules are named and left out for the rest of the run; they never end it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import numpy as np

from pruner.rule import Finding, RuleError

Disabled = dict[str, str]  # printed rule -> what it did
PATIENCE_S = 10.0  # for one answer; the rules that ship take milliseconds for 4,096 candidates


class NoAnswer(BaseException):
    """A rule that takes too long; no ``Exception``, so that a rule does not swallow it."""


def guarded(
    spec: str,
    ask: Callable[[], Finding | None],
    n: int,
    disabled: Disabled,
    *,
    trusted: bool = False,
) -> Finding | None:
    """What ``ask`` finds for ``n`` rows, or ``None`` when the rule has nothing to say or is broken.

    A rule that raises, answers anything but a well-formed :class:`Finding`, or does not answer
    within ``PATIENCE_S`` is entered into ``disabled`` and not asked again.  Who is ``trusted`` to
    answer well is neither timed nor examined.
    """
    if spec in disabled:
        return None
    try:
        if trusted:
            return ask()
        finding = _in_time(ask)
        if finding is not None:
            check_finding(finding, n)
    except (Exception, NoAnswer) as error:  # whatever a user's rule may raise
        disabled[spec] = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return None
    return finding


def _in_time(ask: Callable[[], Finding | None]) -> Finding | None:
    with patience():
        return ask()


def ships(rule: object) -> bool:
    """Whether a rule is one of prunelab's own, which its tests hold to the contract of rules."""
    return type(rule).__module__.startswith("pruner.rules.")


@contextmanager
def patience() -> Iterator[None]:
    """Interrupt what takes longer than ``PATIENCE_S``, again and again until it stops.

    Only Python's main thread can be interrupted; in any other one there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise NoAnswer(f"no answer within {PATIENCE_S:g} s")


def check_finding(finding: object, n: int) -> None:
    """Hold a finding to its contract; ``RuleError`` says what is wrong with it."""
    if not isinstance(finding, Finding):
        raise RuleError(f"answered {type(finding).__name__}, expected a Finding")
    for name, kind in (("keep", "b"), ("need", "f"), ("have", "f")):
        column = getattr(finding, name)
        if not isinstance(column, np.ndarray) or column.shape != (n,) or column.dtype.kind != kind:
            shape = getattr(column, "shape", None)
            dtype = getattr(column, "dtype", type(column).__name__)
            expected = "bool" if kind == "b" else "float64"
            raise RuleError(f"{name} is {dtype} {shape}, expected {expected} ({n},)")
    if not finding.reason:
        raise RuleError("reason is empty")
