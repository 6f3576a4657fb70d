"""Broken rules are named and left out for the rest of the run; they never end it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pruner.rule import Finding, RuleError

Disabled = dict[str, str]  # printed rule -> what it did


def guarded(
    spec: str, ask: Callable[[], Finding | None], n: int, disabled: Disabled
) -> Finding | None:
    """What ``ask`` finds for ``n`` rows, or ``None`` when the rule has nothing to say or is broken.

    A rule that raises, or answers anything but a well-formed :class:`Finding`, is entered into
    ``disabled`` and not asked again.
    """
    if spec in disabled:
        return None
    try:
        finding = ask()
        if finding is not None:
            check_finding(finding, n)
    except Exception as error:  # whatever a user's rule may raise
        disabled[spec] = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return None
    return finding


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
