"""Holding a log against the run that it came from, made again: line by line, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from traces.log import LogWriter, complete_lines
from traces.schema import Record


class LogMismatch(Exception):
    """The first line at which a log and its run part; the message is one line for the user."""


class LogVerifier(LogWriter):
    """Takes the records of a run that is made again and compares them with its log.

    Nothing is written and nothing is recalled: every measurement is made again.  A log that was
    interrupted is compared as far as it goes; a torn last line is left out.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known = {}
        self._old = complete_lines(path)
        self._line = 0
        self.complete = b'"record":"end"' in self._old[-1]

    @property
    def exhausted(self) -> bool:
        """Whether every line was compared."""
        return self._line >= len(self._old)

    @property
    def before_end(self) -> bool:
        """Whether all but the last line, a finished run's, was compared."""
        return self.complete and self._line == len(self._old) - 1

    @property
    def lines(self) -> int:
        """How many lines the log has."""
        return len(self._old)

    def write(self, record: Record) -> None:
        """Compare one record.

        Raises
        ------
        LogMismatch
            Names the line, the first key that differs, and both values.
        """
        line = msgspec.json.encode(record) + b"\n"
        number = self._line + 1
        if self.exhausted:
            if self.complete:
                raise LogMismatch(f"{self.path}:{number}: the log ends, the run goes on")
            return
        if self._old[self._line] != line:
            where = _difference(self._old[self._line], line)
            raise LogMismatch(f"{self.path}:{number}: {where}")
        self._line += 1

    def finish(self) -> None:
        """``LogMismatch`` where the run has ended and the log goes on."""
        if not self.exhausted:
            raise LogMismatch(f"{self.path}:{self._line + 1}: the run ends, the log goes on")

    def flush(self) -> None:
        """Nothing to hand on."""

    def close(self) -> None:
        """Nothing to close."""


def _difference(ours: bytes, again: bytes) -> str:
    try:
        logged, derived = msgspec.json.decode(ours), msgspec.json.decode(again)
    except msgspec.MsgspecError:
        return "not a record of a prunelab log"
    for path, a, b in _differences(logged, derived, ""):
        return f"{path}: the log has {_short(a)}, the run {_short(b)}"
    return "the same values in other bytes"


def _differences(a: Any, b: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys((*a, *b)):
            yield from _differences(a.get(key), b.get(key), f"{path}.{key}" if path else key)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _differences(x, y, f"{path}[{i}]")
    elif a != b:
        yield path, a, b


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 120 else text[:117] + "..."
