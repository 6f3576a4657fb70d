"""What finished runs leave to the next: one folder, two append-only files of JSON lines.

``top100.jsonl`` has measured candidates with their features, ``whitelist.jsonl`` candidates that
are proven correct.  Lines are only ever added, so that a **snapshot** (how many lines of either,
and a hash of them) names what a run was given for ever: resuming and verifying see that again,
whatever was added since.  A torn last line is left out, and cut off before the next one is written.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from traces.log import LogError

STORE_SCHEMA = 1
_SNAPSHOT = re.compile(r"(\d{1,9})\.(\d{1,9})@[0-9a-f]{16}", re.ASCII)


class Measured(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measured candidate: its features (38 of them) and mean latency, ``None`` for a failure.

    ``at`` is the wall clock; it takes no part in hashes and comparisons.
    """

    schema: int = STORE_SCHEMA
    chip: str
    chip_hash: str
    backend: str
    workload: str
    workload_hash: str
    candidate: str
    run: str
    latency_us: float | None
    features: list[float]
    at: str = ""


class Proven(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A candidate that is proven correct.  ``candidate`` and ``workload_hash`` know no chip.

    ``proof`` says how (ranges, rounding, and the run on a small shape), ``versions`` with what.
    ``at`` is the wall clock; it takes no part in hashes and comparisons.
    """

    schema: int = STORE_SCHEMA
    workload: str
    workload_hash: str
    candidate: str
    decisions: list[int]
    proof: dict[str, Any]
    versions: dict[str, str]
    at: str = ""


Entry = Measured | Proven


@dataclass(frozen=True)
class Contents:
    """What a snapshot holds."""

    measured: tuple[Measured, ...] = ()
    proven: tuple[Proven, ...] = ()


class Store:
    """The store in ``folder``; a folder that does not exist yet is an empty store."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def claim(self) -> None:
        """Make it ready to be written, before there is anything to write.

        Raises
        ------
        LogError
            The folder cannot be written.
        """
        for path in (self._top, self._list):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                open(path, "ab").close()
            except OSError as error:
                raise _unwritable(path, error) from None

    def snapshot(self) -> str:
        """``MEASURED.PROVEN@HASH`` of what it holds now."""
        return _snapshot(_read(self._top, Measured), _read(self._list, Proven))

    def contents(self, snapshot: str | None = None) -> Contents:
        """What it held at a snapshot; None: what it holds now.

        Raises
        ------
        LogError
            A damaged line, another schema, or lines other than those of the snapshot.
        """
        measured, proven = _read(self._top, Measured), _read(self._list, Proven)
        if snapshot is not None:
            counts = _SNAPSHOT.fullmatch(snapshot)
            if counts is None:
                raise LogError(f"{snapshot!r}: expected MEASURED.PROVEN@HASH of a store")
            measured, proven = measured[: int(counts[1])], proven[: int(counts[2])]
            if _snapshot(measured, proven) != snapshot:
                raise LogError(f"{self.folder}: is not the store that the run had: {snapshot}")
        return Contents(tuple(measured), tuple(proven))

    def add(self, entries: Sequence[Entry]) -> int:
        """Append what is new, of equals the first; how many lines that was.

        Raises
        ------
        LogError
            The folder cannot be written, or holds something else.
        """
        known = self.contents()
        there: list[Entry] = [*known.measured, *known.proven]
        seen = set(map(_identity, there))
        new = {key: e for e in reversed(entries) if (key := _identity(e)) not in seen}
        for path, kind in ((self._top, Measured), (self._list, Proven)):
            _append(path, [e for e in reversed(new.values()) if isinstance(e, kind)])
        return len(new)

    @property
    def _top(self) -> Path:
        return self.folder / "top100.jsonl"

    @property
    def _list(self) -> Path:
        return self.folder / "whitelist.jsonl"


def _identity(entry: Entry) -> tuple[str, ...]:
    if isinstance(entry, Measured):
        return entry.chip_hash, entry.workload_hash, entry.candidate
    return entry.workload_hash, entry.candidate, *entry.versions.values()


def _content(entry: Entry) -> bytes:
    """The line without its wall clock."""
    return msgspec.json.encode(msgspec.structs.replace(entry, at="")) + b"\n"


def _snapshot(measured: Sequence[Measured], proven: Sequence[Proven]) -> str:
    entries: list[Entry] = [*measured, *proven]
    digest = hashlib.sha256(b"".join(map(_content, entries)))
    return f"{len(measured)}.{len(proven)}@{digest.hexdigest()[:16]}"


def _read(path: Path, kind: type[Any]) -> list[Any]:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise LogError(f"{path}: cannot be read ({error.strerror})") from None
    out = []
    for number, line in enumerate(raw[: raw.rfind(b"\n") + 1].splitlines(), start=1):
        try:
            entry = msgspec.json.decode(line, type=kind)
        except msgspec.MsgspecError as error:
            raise LogError(f"{path}:{number}: no line of a prunelab store ({error})") from None
        if entry.schema != STORE_SCHEMA:
            raise LogError(f"{path}:{number}: schema {entry.schema}, expected {STORE_SCHEMA}")
        out.append(entry)
    return out


def _append(path: Path, entries: Sequence[Entry]) -> None:
    if not entries:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # another process may finish a run just now
            file.seek(0)
            whole = file.read().rfind(b"\n") + 1
            os.truncate(path, whole)
            file.write(b"".join(msgspec.json.encode(e) + b"\n" for e in entries))
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> LogError:
    return LogError(f"{path}: cannot be written ({error.strerror})")
