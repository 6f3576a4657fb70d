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
    kernels = [(len(rows), kernel) for rows, of_group in groups for kernel in of_group]
    names = dict.fromkeys(name for _, kernel in kernels for name in kernel)
    columns = {name: _column(kernels, schema[name], order) for name in names}
    return KernelTable(backend, len(order), {**columns, "candidate": candidate})


def _order(groups: Sequence[Group]) -> tuple[IntColumn, IntColumn]:
    """Where the rows of the table stand kernel by kernel of each group, and whose they are."""
    n = sum(len(rows) for rows, _ in groups)
    first, end = np.empty(n, dtype=np.int64), 0
    step, count = np.empty_like(first), np.empty_like(first)
    for rows, kernels in groups:
        first[rows] = end + np.arange(len(rows))
        step[rows], count[rows] = len(rows), len(kernels)
        end += len(rows) * len(kernels)
    candidate: IntColumn = np.repeat(np.arange(n), count)
    within: IntColumn = np.arange(end) - (np.cumsum(count) - count)[candidate]
    return first[candidate] + within * step[candidate], candidate


def _column(
    kernels: Sequence[tuple[int, Columns]], column: Column, order: IntColumn
) -> NDArray[Any]:
    """One column: filled kernel by kernel, each of so many rows, then put in order, which one value
    needs not.
    """
    pieces = [kernel.get(column.name, column.default) for _, kernel in kernels]
    value = _only(pieces)
    if value is not None:
        return np.full(len(order), value, dtype=column.dtype)
    out, end = np.empty(len(order), dtype=column.dtype), 0
    for (rows, _), piece in zip(kernels, pieces, strict=True):
        start, end = end, end + rows
        out[start:end] = piece
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
