"""Measurements of the round that is under way, kept beside the log until the log has them.

A round goes into the log as a whole, when all of it has been measured.  On real hardware that may
be minutes, and the hardware may vanish: each measurement is appended here at once, and a resumed
run reads it back.  The first line is the log's header, so that nothing of another run is taken up.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from traces import Header, Measurement

SUFFIX = ".measured"


class Kept(msgspec.Struct, frozen=True):
    """One line: a candidate and its measurement."""

    candidate: str
    measurement: Measurement


def beside(log: Path) -> Path:
    """The file that goes with a log."""
    return log.with_name(log.name + SUFFIX)


class Keeper:
    """Appends measurements to the file beside ``log``; ``known`` is what it held of the same run,
    by candidate.
    """

    def __init__(self, log: Path, header: Header) -> None:
        path, first = beside(log), msgspec.json.encode(header)
        raw = path.read_bytes() if path.exists() else b""
        mine = raw.startswith(first + b"\n")
        self.known = _decoded(raw.splitlines()[1:]) if mine else {}
        self._path = path
        if not mine:
            path.write_bytes(first + b"\n")
        elif not raw.endswith(b"\n"):
            self._append(b"\n")  # ends a torn line, which nothing will decode

    def keep(self, candidate: str, measurement: Measurement) -> None:
        """Append one measurement and hand it to the operating system."""
        self._append(msgspec.json.encode(Kept(candidate, measurement)) + b"\n")

    def _append(self, line: bytes) -> None:
        with open(self._path, "ab") as file:
            file.write(line)


def _decoded(lines: list[bytes]) -> dict[str, Measurement]:
    """What can be read; of a torn line the candidate is measured again."""
    found = {}
    for line in lines:
        try:
            kept = msgspec.json.decode(line, type=Kept)
        except msgspec.MsgspecError:
            continue
        found[kept.candidate] = kept.measurement
    return found
