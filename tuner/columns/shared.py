"""Recorded columns for a matrix of decisions, of one template or of several.

Templates of one sketch have most of their expressions in common: a location changes the statements
that it moves.  What all have is computed for all rows, the rest for the rows of each.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from tuner.columns.evaluate import Column, Plan
from tuner.columns.node import Expr
from tuner.columns.options import Options
from tuner.columns.symbol import Symbol
from tuner.columns.tables import Tables
from tuner.decisions import IntMatrix

Columns = Mapping[str, Any]  # symbols, and arrays of one element where no decision changes them
K = TypeVar("K", bound=Hashable)


class Shared(Generic[K]):
    """The columns of each kernel, by template."""

    def __init__(
        self, templates: Mapping[K, Sequence[Columns]], options: Sequence[Options]
    ) -> None:
        self._kernels = templates
        outputs = {key: list(_expressions(kernels)) for key, kernels in templates.items()}
        common = set.intersection(*(_reachable(exprs) for exprs in outputs.values()))
        given = dict.fromkeys(e for exprs in outputs.values() for e in _border(exprs, common))
        self._common = Tables(Plan(given), options)
        self._own = {key: Tables(Plan(exprs, given), options) for key, exprs in outputs.items()}

    def __call__(self, groups: Sequence[tuple[K, IntMatrix]]) -> list[list[dict[str, Column]]]:
        """The columns ``(n,)`` of each group of rows, of one element where none differ."""
        common = self._common(np.concatenate([matrix for _, matrix in groups]))
        out, end = [], 0
        for key, matrix in groups:
            start, end = end, end + len(matrix)
            given = {e: column[start:end] for e, column in common.items()}
            values = self._own[key](matrix, given)
            out.append([_filled(kernel, values) for kernel in self._kernels[key]])
        return out


def _filled(kernel: Columns, values: Mapping[Expr, Column]) -> dict[str, Column]:
    return {name: values[c.expr] if isinstance(c, Symbol) else c for name, c in kernel.items()}


def _expressions(kernels: Iterable[Columns]) -> Iterator[Expr]:
    return (c.expr for kernel in kernels for c in kernel.values() if isinstance(c, Symbol))


def _reachable(exprs: Iterable[Expr]) -> set[Expr]:
    seen, todo = set[Expr](), list(exprs)
    while todo:
        e = todo.pop()
        if e not in seen:
            seen.add(e)
            todo += e.operands()
    return seen


def _border(exprs: Iterable[Expr], common: set[Expr]) -> Iterator[Expr]:
    """The common expressions that others are made of, or that are asked for themselves."""
    seen, todo = set[Expr](), list(exprs)
    while todo:
        e = todo.pop()
        if e in seen:
            continue
        seen.add(e)
        if e not in common:
            todo += e.operands()
        elif e.op not in ("const", "number", "column"):
            yield e
