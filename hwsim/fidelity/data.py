"""Tables of measurements on disk, and what a reader makes of one."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.result import FloatColumn
from hwsim.table import KernelTable

SUFFIXES = (".csv.gz", ".csv")
# What cells that are missing, no numbers, zero or huge end in.
_HUGE = 2.0**31  # no size of a kernel; products of several would wrap
_ABSURD = 1e18  # neither a time in any unit nor a counter
UNREADABLE = (ValueError, LookupError, ArithmeticError)


class MeasuredError(ValueError):
    """A folder or a file of measurements that cannot be used; one line for the user."""


@dataclass(frozen=True)
class Source:
    """One file: ``name`` without its suffixes, every cell of ``frame`` as text."""

    name: str
    frame: pd.DataFrame

    def has(self, *columns: str) -> bool:
        """All of ``columns`` are there."""
        return set(columns) <= set(self.frame.columns)


@dataclass(frozen=True)
class Skip:
    """Rows of ``chip`` that are not predicted, and why."""

    chip: str
    rows: int
    reason: str


@dataclass(frozen=True)
class Part:
    """What a dataset says about one chip under one measure, for ``n`` candidates.

    ``measured`` is ``(n,)``, NaN where the kernel failed or nothing was noted; it is held against
    the latency in us plus ``added_us`` (what the harness adds to every time), or against the
    simulation's ``counter``.  Candidates with the same number in ``groups`` are schedules of one
    problem.  ``failed`` holds :class:`hwsim.result.Failure` numbers as measured.  Times below
    ``split_us`` are reported apart as well.
    """

    chip: Chip
    table: KernelTable
    measured: FloatColumn
    measure: str = "latency"
    counter: str | None = None
    added_us: float = 0.0
    groups: NDArray[np.int64] | None = None
    failed: NDArray[np.int64] | None = None
    split_us: float | None = None


Finding = Part | Skip


def files(folder: Path) -> Iterator[Path]:
    """The tables of one folder by name; none where there is no such folder."""
    if folder.is_dir():
        yield from sorted(p for p in folder.iterdir() if p.name.endswith(SUFFIXES))


def load(path: Path) -> Source:
    """One table, every cell as text.

    Raises
    ------
    MeasuredError
        The file cannot be read as CSV.
    """
    try:
        with warnings.catch_warnings():  # one collection has a comma too many in its last column
            warnings.simplefilter("ignore", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                dtype=str,
                keep_default_na=False,
                index_col=False,
                encoding="utf-8",
                skipinitialspace=True,
            )
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise MeasuredError(f"not readable: {' '.join(str(error).split())}") from None
    return Source(stem(path), frame.rename(columns=str.strip))


def reason_of(error: Exception) -> str:
    """Why rows are skipped on which a reader raised one of :data:`UNREADABLE`, in one line."""
    if isinstance(error, ArithmeticError):
        return "a size that is zero, or too large for a kernel"
    text = " ".join(str(error).split())
    return f"neither a column nor a known value: {text}" if isinstance(error, KeyError) else text


def stem(path: Path) -> str:
    """The file's name without its suffixes."""
    return next(path.name[: -len(s)] for s in SUFFIXES if path.name.endswith(s))


def numbers(frame: pd.DataFrame, column: str) -> FloatColumn:
    """``column`` as float64, NaN where there is no number, or one that no table can mean."""
    values = np.asarray(pd.to_numeric(frame[column], errors="coerce"), dtype=np.float64)
    return np.where(np.abs(values) < _ABSURD, values, np.nan)


def integers(frame: pd.DataFrame, column: str, default: int = 0) -> NDArray[np.int64]:
    """``column`` as int64, ``default`` where there is no number below 2^31 or no such column."""
    if column not in frame:
        return np.full(len(frame), default, dtype=np.int64)
    values = numbers(frame, column)
    return np.where(np.abs(values) < _HUGE, values, default).astype(np.int64)


def complete(
    frame: pd.DataFrame, columns: tuple[str, ...], chip: str
) -> tuple[pd.DataFrame, list[Skip]]:
    """The rows with a size (1 to below 2^31) in all ``columns``, and a skip for the others."""
    fine = np.ones(len(frame), dtype=bool)
    for column in columns:
        values = numbers(frame, column)
        fine &= (values >= 1) & (values < _HUGE)
    missing = int((~fine).sum())
    reason = f"no number from 1 to below 2^31 in one of {', '.join(columns)}"
    return frame[fine], [Skip(chip, missing, reason)] if missing else []
