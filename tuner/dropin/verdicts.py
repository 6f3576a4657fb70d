"""The log of a drop-in run: every verdict that prunes and every failure, as JSON Lines."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path

import msgspec

from pruner.verdict import Verdict
from tuner.dropin.error import TuneWarning

NAME = "prunelab.jsonl"


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line: ``subject`` is a candidate's hash or ``decision = value``.

    A line has a ``verdict`` (pruned), an ``error`` (measured and failed) or a ``note``.
    """

    task: str
    subject: str = ""
    verdict: Verdict | None = None
    error: str | None = None
    note: str | None = None


class VerdictLog:
    """Appends to ``path`` from several threads; every line is whole or torn off by a reader."""

    def __init__(self, path: Path) -> None:
        self.path, self._lock = path, threading.Lock()
        self._noted: set[str] = set()
        path.parent.mkdir(parents=True, exist_ok=True)
        torn = path.is_file() and not path.read_bytes().endswith(b"\n") and path.stat().st_size
        self._file = open(path, "ab")  # noqa: SIM115 - closed by __exit__
        if torn:
            self._file.write(b"\n")

    def write(self, line: Line) -> None:
        """Append one line."""
        with self._lock:
            self._file.write(msgspec.json.encode(line) + b"\n")

    def note(self, task: str, text: str) -> None:
        """Log and say once what a user should know."""
        if text in self._noted:
            return
        self._noted.add(text)
        self.write(Line(task=task, note=text))
        warnings.warn(f"{task}: {text}", TuneWarning, stacklevel=2)

    def flush(self) -> None:
        """Hand what was written to the operating system."""
        with self._lock:
            self._file.flush()

    def __enter__(self) -> VerdictLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def failures(path: Path, task: str) -> set[str]:
    """Hashes of the candidates of ``task`` that an earlier run measured as failures."""
    found = set()
    for raw in path.read_bytes().splitlines() if path.is_file() else ():
        try:
            line = msgspec.json.decode(raw, type=Line)
        except msgspec.MsgspecError:
            continue  # a torn line
        if line.task == task and line.error is not None:
            found.add(line.subject)
    return found
