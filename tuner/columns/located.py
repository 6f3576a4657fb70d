"""The second road for sketches with sampled compute locations: one template for each outcome.

The loops of a program are a function of the locations that its blocks come out at; rows that share
them are evaluated together.  Templates are made when they are first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from hwsim.table import KernelTable
from tuner import tir
from tuner.columns.build import template
from tuner.columns.interpret import interpret, interpret_places
from tuner.columns.locations import Places
from tuner.columns.options import Options
from tuner.columns.program import Unsupported
from tuner.columns.road import differing
from tuner.columns.shared import Shared
from tuner.columns.template import Template
from tuner.decisions import Decision, IntColumn, IntMatrix
from tuner.nest import Nest
from tuner.summary import Columns, Group, kernel_columns, kernel_table, scattered, table_of

Taken = tuple[int, ...]  # where the sampled locations come out, in trace order
UNKNOWN = -3  # no location: what lies before it cannot be interpreted


@dataclass(eq=False)
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
    templates: dict[Taken, Template] = field(default_factory=dict)
    _recorded: dict[Taken, list[Columns]] = field(default_factory=dict)
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
        groups = self._learnt(matrix)
        if len(groups) != 1:
            raise ValueError(f"{len(groups)} loop structures, expected one")
        taken = groups[0][0]
        if taken not in self.templates:
            raise Unsupported(self.fallen.get(taken, "a location that is not interpreted"))
        return self.templates[taken].nest(matrix)

    def kernels(self, matrix: IntMatrix) -> KernelTable:
        """The kernel table of the candidates in a decision matrix ``(n, d)``."""
        return scattered(self._columns(matrix), self.backend)

    def _columns(self, matrix: IntMatrix) -> list[Group]:
        """Rows with the columns of their kernels."""
        groups = self._learnt(matrix)
        usable = self._recorded.keys() - self.fallen.keys()
        known = {taken: rows for taken, rows in groups if taken in usable}
        found = self._shared(known, matrix) if known else []
        for row in (r for taken, rows in groups if taken not in usable for r in rows):
            nest = self.reference(matrix[row])
            found.append((row[None], kernel_columns(nest, self.backend)))
        return found

    def _learnt(self, matrix: IntMatrix) -> list[tuple[Taken, IntColumn]]:
        """Rows by the locations that they come out at, of which templates have been made."""
        groups = list(_groups(self.taken(matrix)))
        known = self.templates.keys() | self.fallen.keys()
        new = {t: matrix[rows[0]] for t, rows in groups if t not in known and UNKNOWN not in t}
        if new:
            self._learn(new)
        return groups

    def _learn(self, examples: Mapping[Taken, IntColumn]) -> None:
        """Make a template after each example, and hold it to it."""
        expected = {}
        for taken, row in examples.items():
            model = self.reference(row)
            try:
                program = interpret(self.initial, self.instructions, self.decisions, taken)
                self.templates[taken] = template(program, model)
            except Unsupported as reason:
                self.fallen[taken] = str(reason)
                continue
            symbolic = self.templates[taken].symbolic()
            self._recorded[taken] = kernel_columns(symbolic, self.backend)
            expected[taken] = kernel_table(model, self.backend)
        self._share()
        for taken, table in expected.items():
            ((_, columns),) = self._shared({taken: np.arange(1)}, examples[taken][None])
            if wrong := differing(table_of(columns, self.backend, 1), table):
                self.fallen[taken] = f"differs from the replayed candidate in {', '.join(wrong)}"
                del self.templates[taken], self._recorded[taken]
        if self.fallen.keys() & expected.keys():
            self._share()

    def _share(self) -> None:
        if self._recorded:
            self._shared = Shared(dict(sorted(self._recorded.items())), self._options)

    @cached_property
    def _options(self) -> list[Options]:
        return [Options(d.options(), d.start) for d in self.decisions]

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
    if road.fallen and not road.templates:
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
