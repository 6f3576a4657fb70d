"""From the columns of each kernel to the rows of a kernel table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.columns import Column, columns_of
from hwsim.table import KernelTable
from tuner.nest import IntColumn
from tuner.summary.common import Columns

Group = tuple[IntColumn, Sequence[Columns]]  # which candidates, and the columns of their kernels


def table_of(kernels: Sequence[Columns], backend: str, n: int) -> KernelTable:
    """The table of ``n`` candidates that are alike in their kernels."""
    if len(kernels) == 1:
        return KernelTable(backend, n, kernels[0])
    return scattered([(np.arange(n), kernels)], backend)


def scattered(groups: Sequence[Group], backend: str) -> KernelTable:
    """The table of several groups of candidates, which together are 0, 1, ..."""
    schema = columns_of(backend)
    order, candidate = _order(groups)
    names = dict.fromkeys(name for _, kernels in groups for k in kernels for name in k)
    columns = {name: _column(groups, schema[name], order) for name in names}
    return KernelTable(backend, len(order), {**columns, "candidate": candidate})


def _order(groups: Sequence[Group]) -> tuple[IntColumn, IntColumn]:
    """Where the rows of the table stand group by group, and whose they are."""
    n = sum(len(rows) for rows, _ in groups)
    first, count, end = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), 0
    for rows, kernels in groups:
        first[rows] = end + np.arange(len(rows)) * len(kernels)
        count[rows] = len(kernels)
        end += len(rows) * len(kernels)
    candidate = np.repeat(np.arange(n), count)
    within = np.arange(end) - (np.cumsum(count) - count)[candidate]
    return first[candidate] + within, candidate


def _column(groups: Sequence[Group], column: Column, order: IntColumn) -> NDArray[Any]:
    """One column: filled group by group, the kernels of a candidate behind each other, then put in
    order, which one value needs not.
    """
    name, default, n = column.name, column.default, len(order)
    pieces = [[kernel.get(name, default) for kernel in kernels] for _, kernels in groups]
    value = _only(p for of_group in pieces for p in of_group)
    if value is not None:
        return np.full(n, value, dtype=column.dtype)
    out, end = np.empty(n, dtype=column.dtype), 0
    for (rows, _), of_group in zip(groups, pieces, strict=True):
        start, end = end, end + len(rows) * len(of_group)
        for i, piece in enumerate(of_group):
            out[start + i : end : len(of_group)] = piece
    return out.take(order, mode="clip")  # the same as unclipped, in half the time


def _only(pieces: Iterable[Any]) -> Any:
    """The one value of all pieces, else None."""
    found = None
    for piece in pieces:
        if np.size(piece) != 1:
            return None
        value = np.asarray(piece).item()
        if found is not None and value != found:
            return None
        found = value
    return found
