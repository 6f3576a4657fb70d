"""The second road for sketches with sampled compute locations: one template for each outcome.

The loops of a program are a function of the locations that its blocks come out at; rows that share
them are evaluated together.  Templates are made when they are first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
from tuner.summary import kernel_table

Taken = tuple[int, ...]  # where the sampled locations come out, in trace order


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
    _places: dict[Taken, Places] = field(default_factory=dict)

    def taken(self, matrix: IntMatrix) -> IntMatrix:
        """``(n, locations)``: where TVM puts the blocks of each candidate."""
        starts = [d.start for d in self.decisions if d.kind == "compute_location"]
        out = matrix[:, starts].astype(np.int64)
        for k, start in enumerate(starts):
            for before, rows in _groups(out[:, :k]):
                found = self._places_behind(before).taken(matrix[rows, start], matrix[rows])
                out[rows, k] = found
        return out

    def nest(self, matrix: IntMatrix) -> Nest:
        """The nest of candidates whose locations all come out alike."""
        groups = list(_groups(self.taken(matrix)))
        if len(groups) != 1:
            raise ValueError(f"{len(groups)} loop structures, expected one")
        return self._road(groups[0][0], matrix[0]).nest(matrix)

    def kernels(self, matrix: IntMatrix) -> KernelTable:
        """The kernel table of the candidates in a decision matrix ``(n, d)``."""
        groups = list(_groups(self.taken(matrix)))
        table = KernelTable.concat([self._group(taken, matrix[rows]) for taken, rows in groups])
        order = np.argsort(np.concatenate([rows for _, rows in groups]), kind="stable")
        return table.take_candidates(order)

    def _group(self, taken: Taken, matrix: IntMatrix) -> KernelTable:
        if taken not in self.fallen:
            try:
                return self._road(taken, matrix[0]).kernels(matrix)
            except Unsupported as reason:
                self.fallen[taken] = str(reason)
        tables = [kernel_table(self.reference(row), self.backend) for row in matrix]
        return KernelTable.concat(tables)

    def _places_behind(self, before: Taken) -> Places:
        if before not in self._places:
            self._places[before] = interpret_places(
                self.initial, self.instructions, self.decisions, before
            )
        return self._places[before]

    def _road(self, taken: Taken, example: IntColumn) -> ColumnRoad:
        if taken not in self._roads:
            model = self.reference(example)
            program = interpret(self.initial, self.instructions, self.decisions, taken)
            road = ColumnRoad(template(program, model), self.backend)
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
    distinct, inverse = np.unique(taken, axis=0, return_inverse=True)
    for i, row in enumerate(distinct):
        yield tuple(int(v) for v in row), np.flatnonzero(inverse.ravel() == i)
