"""A callback that is registered before a search and hears, and may overrule, every verdict.

It lives in TVM's registry of global functions under :data:`CALLBACK`, so that it may be written in
any language that TVM's FFI reaches; :func:`register_callback` is the short way from Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm_ffi

from pruner.verdict import Verdict, to_json

CALLBACK = "prunelab.verdict_callback"
Callback = Callable[[str, str, str], "bool | None"]  # task, subject, verdict as JSON -> keep?


def register_callback(callback: Callback | None) -> Callback | None:
    """Register ``callback(task, subject, verdict_json) -> bool | None`` for all later searches.

    It is asked in both stages: before the search, once for each value of each sampling decision
    (``subject`` is ``i.tile = 4x1x8``), and during it, once for each candidate that TVM has
    replayed (``subject`` is its hash).  True keeps, False prunes, None leaves the verdict as it is.
    The JSON is that of :class:`pruner.verdict.Verdict`.  A callback that raises is left out for the
    rest of the run, with a warning.  ``None`` removes the callback.  Works as a decorator.
    """
    if callback is not None:
        tvm_ffi.register_global_func(CALLBACK, callback, override=True)
    elif registered() is not None:
        tvm_ffi.registry.remove_global_func(CALLBACK)
    return callback


def registered() -> Any:
    """The registered callback; None where there is none."""
    return tvm_ffi.get_global_func(CALLBACK, allow_missing=True)


class Voice:
    """The callback of one run; silent from the moment it raises."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        self._callback, self._complain = registered(), complain

    @property
    def present(self) -> bool:
        """Whether there is anybody to ask."""
        return self._callback is not None

    def keep(self, task: str, subject: str, verdict: Verdict) -> bool:
        """The verdict's word, unless the callback overrules it."""
        if self._callback is None:
            return verdict.keep
        try:
            answer = self._callback(task, subject, to_json(verdict))
        except Exception as error:  # whatever a user's callback may raise
            self._callback = None
            lines = str(error).strip().splitlines() or [""]
            self._complain(f"the callback is left out: {type(error).__name__}: {lines[-1]}")
            return verdict.keep
        return verdict.keep if answer is None else bool(answer)
