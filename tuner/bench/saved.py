"""A benchmark's ``results.json`` read back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tuner.bench.results import SCHEMA

FILE = "results.json"
Key = tuple[str, str, str, str]


class ResultsError(ValueError):
    """A file that holds no results of a benchmark; the message is one line for the user."""


class _Blame(msgspec.Struct):
    stage: str
    rule: str
    pruned: int


class _Cell(msgspec.Struct):
    """What readers rely on; the measures stand beside it."""

    chip: str
    workload: str
    strategy: str
    arm: str
    rules: list[_Blame] = []
    notes: list[str] = []


class _File(msgspec.Struct):
    header: dict[str, Any]
    cells: list[dict[str, Any]]


@dataclass(frozen=True)
class Saved:
    """The header and the cells by (chip, workload, strategy, arm), in the file's order."""

    path: Path
    header: dict[str, Any]
    cells: dict[Key, dict[str, Any]]


def read_results(path: Path) -> Saved:
    """Read ``results.json``, or that of a benchmark's folder.

    Raises
    ------
    ResultsError
        No such file, no results of a benchmark, a schema of another version, or a cell twice.
    """
    file = path / FILE if path.is_dir() else path
    content = _content(file)
    header = content.header
    if header.get("schema") != SCHEMA:
        raise ResultsError(f"{file}: schema {header.get('schema')}, this version reads {SCHEMA}")
    cells: dict[Key, dict[str, Any]] = {}
    for i, cell in enumerate(content.cells):
        key = _key(file, i, cell)
        if key in cells:
            raise ResultsError(f"{file}: $.cells[{i}] repeats {' '.join(key)}")
        cells[key] = cell
    return Saved(file, header, cells)


def _content(file: Path) -> _File:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_File)
    except OSError as error:
        raise ResultsError(f"{file}: cannot be read ({error.strerror})") from None
    except msgspec.MsgspecError as error:
        raise ResultsError(f"{file}: no results.json of a benchmark ({error})") from None


def _key(file: Path, index: int, cell: dict[str, Any]) -> Key:
    """The cell's key, once its parts are what readers rely on."""
    try:
        known = msgspec.convert(cell, _Cell)
    except msgspec.ValidationError as error:
        raise ResultsError(f"{file}: $.cells[{index}]: {error}") from None
    return known.chip, known.workload, known.strategy, known.arm
