"""Writing and reading run logs: append-only, a torn last line is tolerated, resume is exact."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import msgspec

from traces.schema import SCHEMA, End, Header, Measurement, Record, Trial

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class LogError(ValueError):
    """A log that cannot be used; the message is one line for the user."""


class LogWriter:
    """Writes the records of one run to ``path``.

    With ``resume`` the lines that are there already are *compared* with what the run writes again:
    a run is deterministic, so its beginning must come out the same, byte for byte; a torn last line
    is cut off.  Measurements of the earlier attempt are in :attr:`known`, by candidate, so that
    nothing is measured twice.

    Raises
    ------
    LogError
        The folder cannot be written, the log exists and ``resume`` is false, or the log belongs to
        another run.
    """

    def __init__(self, path: Path, header: Header, *, resume: bool = False) -> None:
        self.path = path
        self.known: dict[str, Measurement] = {}
        self.complete = False
        self._old: list[bytes] = []
        self._line = 0
        if path.exists():
            if not resume:
                raise LogError(f"{path}: exists already; give --resume or another folder")
            self._load_old(header)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "ab")  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise LogError(f"{path}: cannot be written ({error.strerror})") from None
        self.write(header)

    def _load_old(self, header: Header) -> None:
        raw = self.path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        self._old = whole.splitlines(keepends=True)
        if self._old:
            _check_header(self.path, self._old[0], header)
        elif not _encoder.encode(header).startswith(raw):
            raise LogError(f"{self.path}: no header of a prunelab log")
        for record in _decode_lines(self.path, self._old):
            if isinstance(record, Trial) and record.measurement is not None:
                self.known[record.candidate] = record.measurement
            self.complete = isinstance(record, End)
        if whole != raw:  # only now that it is known to be ours
            os.truncate(self.path, len(whole))

    def write(self, record: Record) -> None:
        """Append one record, or compare it with the line that an earlier attempt wrote."""
        line = _encoder.encode(record) + b"\n"
        if self._line < len(self._old):
            if self._old[self._line] != line:
                raise LogError(
                    f"{self.path}:{self._line + 1}: the log was written by another program, chip or"
                    " rule version and cannot be resumed; use another folder"
                )
        else:
            self._file.write(line)
        self._line += 1

    def flush(self) -> None:
        """Hand what was written to the operating system."""
        self._file.flush()

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def read(path: Path) -> Iterator[Record]:
    """Yield the records of a log; a torn last line is left out.

    Raises
    ------
    LogError
        No such file, no prunelab log, a newer schema, or a damaged line before the last.
    """
    lines = complete_lines(path)
    _check_header(path, lines[0], None)
    yield from _decode_lines(path, lines)


def complete_lines(path: Path) -> list[bytes]:
    """The lines of a log with their ends, a torn last one left out; ``LogError`` where none is."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise LogError(f"{path}: cannot be read ({error.strerror})") from None
    lines = raw.splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    if not lines:
        raise LogError(f"{path}: holds no complete line, expected a prunelab log")
    return lines


def read_header(path: Path) -> Header:
    """The header of a log alone."""
    first = next(read(path))
    assert isinstance(first, Header)
    return first


def _decode_lines(path: Path, lines: list[bytes]) -> Iterator[Record]:
    for number, line in enumerate(lines, start=1):
        try:
            yield _decoder.decode(line)
        except msgspec.MsgspecError as error:
            after = " and what follows it" if number < len(lines) else ""
            raise LogError(
                f"{path}:{number}: not a record of a prunelab log ({error}); remove that"
                f" line{after}, and --resume makes the rest anew"
            ) from None


def _check_header(path: Path, line: bytes, expected: Header | None) -> None:
    try:
        header = msgspec.json.decode(line, type=Header)
    except msgspec.MsgspecError:
        raise LogError(f"{path}:1: no header of a prunelab log") from None
    if header.schema != SCHEMA:
        raise LogError(f"{path}:1: log schema {header.schema}, this version reads {SCHEMA}")
    if expected is None or header == expected:
        return
    fields = [f for f in Header.__struct_fields__ if getattr(header, f) != getattr(expected, f)]
    f = fields[0]
    raise LogError(
        f"{path}: belongs to another run: {f} is {getattr(header, f)!r},"
        f" this run has {getattr(expected, f)!r}"
    )
