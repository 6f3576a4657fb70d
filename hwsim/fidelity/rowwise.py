"""Datasets whose rows are built into kernels one by one, and grouped by chip afterwards."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from hwsim.chip import Chip
from hwsim.chips import chip_hash
from hwsim.fidelity.data import UNREADABLE, Finding, Part, Skip, Source, numbers, reason_of
from hwsim.table import KernelTable

Row = Mapping[str, str]


@dataclass(frozen=True)
class Reading:
    """How the rows of one dataset become kernels.

    ``chip_of`` gives the chip of a row, ``table_of`` its kernels on it or None where the row does
    not describe any, for the reason ``undescribed``.  ``measured`` maps a measure to its column and
    the counter that is held against it (None: the latency), ``scale`` brings the column to us.
    Rows with equal ``problem`` are schedules of one problem.
    """

    chip_of: Callable[[Row], Chip]
    table_of: Callable[[Row, Chip], KernelTable | None]
    measured: Mapping[str, tuple[str, str | None]]
    undescribed: str
    problem: Callable[[Row], Hashable] | None = None
    scale: float = 1.0
    split_us: float | None = None


@dataclass(frozen=True)
class _Shelved:
    """The rows of one chip with their kernels."""

    chip: Chip
    rows: list[Row] = field(default_factory=list)
    tables: list[KernelTable] = field(default_factory=list)


def read_rows(source: Source, reading: Reading) -> Iterator[Finding]:
    """Parts by chip and measure; rows without chip or kernels are skipped with the reason."""
    shelves: dict[str, _Shelved] = {}
    for row in source.frame.to_dict("records"):
        try:
            chip = reading.chip_of(row)
        except UNREADABLE as error:
            yield Skip(row.get("chip") or row.get("device", ""), 1, reason_of(error))
            continue
        try:
            table = reading.table_of(row, chip)
        except UNREADABLE as error:
            yield Skip(chip.name, 1, reason_of(error))
            continue
        if table is None:
            yield Skip(chip.name, 1, reading.undescribed)
            continue
        shelf = shelves.setdefault(chip_hash(chip), _Shelved(chip))
        shelf.rows.append(row)
        shelf.tables.append(table)
    for shelf in shelves.values():
        yield from _parts(shelf, reading)


def _parts(shelf: _Shelved, reading: Reading) -> Iterator[Part]:
    table = KernelTable.concat(shelf.tables)
    groups = None
    if reading.problem is not None:
        keys = [reading.problem(row) for row in shelf.rows]
        groups = np.array([keys.index(key) for key in keys], dtype=np.int64)
    for measure, (column, counter) in reading.measured.items():
        if column not in shelf.rows[0]:
            continue
        measured = reading.scale * numbers(pd.DataFrame(shelf.rows), column)
        if counter is not None:
            yield Part(shelf.chip, table, measured, measure, counter)
            continue
        yield Part(shelf.chip, table, measured, measure, groups=groups, split_us=reading.split_us)
