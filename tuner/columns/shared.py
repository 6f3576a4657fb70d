"""Recorded columns for a matrix of decisions, of one template or of several.

Templates of one sketch have most of their expressions in common: a location changes the statements
that it moves.  One plan has the expressions of all, and computes each for the rows of the templates
that it is part of.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

import numpy as np

from tuner.columns.evaluate import Column, Plan
from tuner.columns.node import Expr
from tuner.columns.options import Options
from tuner.columns.symbol import Symbol
from tuner.columns.tables import Tables, Values
from tuner.decisions import IntColumn, IntMatrix
from tuner.summary import Columns, Group

K = TypeVar("K", bound=Hashable)
_NONE = np.zeros(0, dtype=np.int64)


class Shared(Generic[K]):
    """The columns of each kernel, by template."""

    def __init__(
        self, templates: Mapping[K, Sequence[Columns]], options: Sequence[Options]
    ) -> None:
        self._templates = templates
        asked = [list(_expressions(kernels)) for kernels in templates.values()]
        self._tables = Tables(Plan(e for exprs in asked for e in exprs), options, asked)

    def __call__(self, rows: Mapping[K, IntColumn], matrix: IntMatrix) -> list[Group]:
        """The columns ``(n,)`` of the kernels of the ``rows`` of each template, of one element
        where none differ.
        """
        sections = [rows.get(key, _NONE) for key in self._templates]
        bounds = list(accumulate(map(len, sections), initial=0))
        values = self._tables(matrix[np.concatenate(sections)], bounds)
        found: list[Group] = []
        for kernels, of, start in zip(self._templates.values(), sections, bounds, strict=False):
            if len(of):
                found.append((of, [_filled(kernel, values, start, len(of)) for kernel in kernels]))
        return found


def _filled(kernel: Mapping[str, Any], values: Values, start: int, n: int) -> Columns:
    """The columns of ``n`` rows from ``start`` on."""

    def rows(e: Expr) -> Column:
        first, column = values[e]
        return column[start - first : start - first + n]

    return {name: rows(c.expr) if isinstance(c, Symbol) else c for name, c in kernel.items()}


def _expressions(kernels: Iterable[Mapping[str, Any]]) -> Iterator[Expr]:
    return (c.expr for kernel in kernels for c in kernel.values() if isinstance(c, Symbol))
