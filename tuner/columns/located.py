"""The second road for sketches with sampled compute locations: one template for each outcome.

The loops of a program are a function of the locations that its blocks come out at; rows that share
them are evaluated together.  Templates are made when they are first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from hwsim.table import KernelTable
from tuner import tir
from tuner.columns.build import template
from tuner.columns.interpret import interpret, interpret_places
from tuner.columns.locations import Places
from tuner.columns.program import Unsupported
from tuner.columns.road import ColumnRoad, differing
from tuner.decisions import Decision, IntColumn, IntMatrix
from tuner.nest import Nest
from tuner.summary import Columns, joined, kernel_columns, kernel_table, table_of

Taken = tuple[int, ...]  # where the sampled locations come out, in trace order
UNKNOWN = -3  # no location: what lies before it cannot be interpreted


@dataclass(frozen=True, eq=False)
class LocatedRoad:
    """A sketch with compute locations whose kernel tables need no replay.

    ``reference`` gives the nest of one candidate as the first road sees it; each template is made
    after one and held to it.  Outcomes that cannot be interpreted take the first road: ``fallen``
    says which, and why.
    """

    initial: Any
    instructions: Sequence[Any]
    decisions: Sequence[Decision]
    backend: str
    reference: Callable[[IntColumn], Nest]
    fallen: dict[Taken, str] = field(default_factory=dict)
    _roads: dict[Taken, ColumnRoad] = field(default_factory=dict)
    _places: dict[Taken, Places | None] = field(default_factory=dict)

    def taken(self, matrix: IntMatrix) -> IntMatrix:
        """``(n, locations)``: where TVM puts the blocks of each candidate, :data:`UNKNOWN` where
        that is not interpreted.
        """
        starts = [d.start for d in self.decisions if d.kind == "compute_location"]
        out = matrix[:, starts].astype(np.int64)
        for k, start in enumerate(starts):
            for before, rows in _groups(out[:, :k]):
                places = None if UNKNOWN in before else self._places_behind(before)
                out[rows, k] = (
                    UNKNOWN if places is None else places.taken(matrix[rows, start], matrix[rows])
                )
        return out

    def nest(self, matrix: IntMatrix) -> Nest:
        """The nest of candidates whose locations all come out alike."""
        groups = list(_groups(self.taken(matrix)))
        if len(groups) != 1:
            raise ValueError(f"{len(groups)} loop structures, expected one")
        return self._road(groups[0][0], matrix[0]).nest(matrix)

    def kernels(self, matrix: IntMatrix) -> KernelTable:
        """The kernel table of the candidates in a decision matrix ``(n, d)``."""
        tables, rows = [], []
        groups = groupby(self._groups(matrix), key=lambda group: group[0])
        for _, group in groups:
            parts = list(group)
            rows.append(np.concatenate([rows for _, rows, _ in parts]))
            columns = joined([(columns, len(rows)) for _, rows, columns in parts], self.backend)
            tables.append(table_of(columns, self.backend, len(rows[-1])))
        order = np.empty(len(matrix), dtype=np.int64)
        order[np.concatenate(rows)] = np.arange(len(matrix))
        return KernelTable.concat(tables).take_candidates(order)

    def _groups(self, matrix: IntMatrix) -> list[tuple[int, IntColumn, list[Columns]]]:
        """Number of kernels, rows and columns of those that have one loop structure."""
        found = []
        for taken, rows in _groups(self.taken(matrix)):
            for some, columns in self._columns(taken, matrix, rows):
                found.append((len(columns), some, columns))
        return sorted(found, key=lambda group: group[0])

    def _columns(
        self, taken: Taken, matrix: IntMatrix, rows: IntColumn
    ) -> Iterator[tuple[IntColumn, list[Columns]]]:
        if UNKNOWN not in taken and taken not in self.fallen:
            try:
                yield rows, self._road(taken, matrix[rows[0]]).columns(matrix[rows])
                return
            except Unsupported as reason:
                self.fallen[taken] = str(reason)
        for row in rows:
            yield row[None], kernel_columns(self.reference(matrix[row]), self.backend)

    def _places_behind(self, before: Taken) -> Places | None:
        """The places of the next block; None where they cannot be interpreted."""
        if before not in self._places:
            self._places[before] = self._interpreted(before)
        return self._places[before]

    def _interpreted(self, before: Taken) -> Places | None:
        try:
            return interpret_places(self.initial, self.instructions, self.decisions, before)
        except Unsupported as reason:
            self.fallen[before] = str(reason)
            return None

    def _road(self, taken: Taken, example: IntColumn) -> ColumnRoad:
        if taken not in self._roads:
            model = self.reference(example)
            program = interpret(self.initial, self.instructions, self.decisions, taken)
            road = ColumnRoad(template(program, model), self.backend, self.decisions)
            expected = kernel_table(model, self.backend)
            if wrong := differing(road.kernels(example[None]), expected):
                raise Unsupported(f"differs from the replayed candidate in {', '.join(wrong)}")
            self._roads[taken] = road
        return self._roads[taken]


def located_road(road: LocatedRoad, rows: IntMatrix) -> LocatedRoad:
    """The road after it has been held to the first one on ``rows``.

    Raises
    ------
    Unsupported
        Not one of the rows' outcomes can be interpreted, TVM or the first road refuse a row, or a
        column of the kernel table differs.
    """
    try:
        return _held(road, rows)
    except (tir.Unsupported, RuntimeError) as error:  # TVM's ScheduleError is a RuntimeError
        line = str(error).strip().splitlines()[-1]
        raise Unsupported(f"a candidate cannot be read: {line}") from None


def _held(road: LocatedRoad, rows: IntMatrix) -> LocatedRoad:
    table = road.kernels(rows)
    if road.fallen and not road._roads:
        raise Unsupported(next(iter(road.fallen.values())))
    expected = KernelTable.concat([kernel_table(road.reference(row), road.backend) for row in rows])
    if wrong := differing(table, expected):
        raise Unsupported(f"differs from the replayed candidates in {', '.join(wrong)}")
    return road


def _groups(taken: IntMatrix) -> Iterator[tuple[Taken, IntColumn]]:
    """Distinct rows with the indices where they stand."""
    if not taken.shape[1]:
        yield (), np.arange(len(taken))
        return
    low = taken.min(axis=0)
    sizes = taken.max(axis=0) - low + 1
    numbers = np.ravel_multi_index(tuple((taken - low).T), tuple(sizes))
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        yield tuple(int(v) for v in taken[rows[0]]), rows
