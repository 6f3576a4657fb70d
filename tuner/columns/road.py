"""The second road to a kernel table: a sketch evaluated over a whole matrix of decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hwsim.table import KernelTable
from tuner import tir
from tuner.columns.build import template
from tuner.columns.interpret import interpret
from tuner.columns.options import Options
from tuner.columns.program import Unsupported
from tuner.columns.shared import Shared
from tuner.columns.template import Template
from tuner.decisions import Decision, IntColumn, IntMatrix
from tuner.nest import Nest
from tuner.summary import Columns, kernel_columns, kernel_table, table_of


@dataclass(frozen=True)
class ColumnRoad:
    """A sketch whose kernel tables need no replay."""

    template: Template
    backend: str
    decisions: Sequence[Decision]

    def nest(self, matrix: IntMatrix) -> Nest:
        """The nest of the candidates in a decision matrix ``(n, d)``."""
        return self.template.nest(matrix)

    def kernels(self, matrix: IntMatrix) -> KernelTable:
        """The kernel table of the candidates in a decision matrix ``(n, d)``."""
        return table_of(self.columns(matrix), self.backend, len(matrix))

    def columns(self, matrix: IntMatrix) -> list[Columns]:
        """The columns of each kernel of the candidates; of one element where none differ."""
        ((_, kernels),) = self._shared({(): np.arange(len(matrix))}, matrix)
        return list(kernels)

    @cached_property
    def _shared(self) -> Shared[tuple[()]]:
        recorded = kernel_columns(self.template.symbolic(), self.backend)
        options = [Options(d.options(), d.start) for d in self.decisions]
        return Shared({(): recorded}, options)


def column_road(
    initial: Any,
    instructions: Sequence[Any],
    decisions: Sequence[Decision],
    backend: str,
    rows: IntMatrix,
    reference: Callable[[IntColumn], Nest],
) -> ColumnRoad:
    """Interpret a sketch, and hold it to the first road on ``rows``.

    ``reference`` gives the nest of one candidate as the first road sees it.

    Raises
    ------
    Unsupported
        The sketch holds what is not interpreted, TVM or the first road take fewer than half of
        the rows, or a column of the kernel table differs.
    """
    program = interpret(initial, instructions, decisions)
    known = {i: n for i, row in enumerate(rows) if (n := _taken(reference, row)) is not None}
    if 2 * len(known) < len(rows):
        raise Unsupported(f"only {len(known)} of {len(rows)} candidates can be replayed")
    road = ColumnRoad(template(program, next(iter(known.values()))), backend, decisions)
    expected = KernelTable.concat([kernel_table(n, backend) for n in known.values()])
    if wrong := differing(road.kernels(rows[list(known)]), expected):
        raise Unsupported(f"differs from the replayed candidates in {', '.join(wrong)}")
    return road


def _taken(reference: Callable[[IntColumn], Nest], row: IntColumn) -> Nest | None:
    try:
        return reference(row)
    except (tir.Unsupported, RuntimeError):  # TVM's ScheduleError is a RuntimeError
        return None


def differing(one: KernelTable, other: KernelTable) -> list[str]:
    """Names of the columns in which two tables are not exactly equal."""
    if len(one) != len(other):
        return ["number of rows"]
    names = dict.fromkeys((*one, *other))
    return [name for name in names if not np.array_equal(one[name], other[name])]
