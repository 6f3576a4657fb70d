"""From the columns of each kernel to the rows of a kernel table."""

from __future__ import annotations

from collections.abc import Sequence
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
    columns = {name: _grouped(groups, schema[name], len(order))[order] for name in names}
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


def _grouped(groups: Sequence[Group], column: Column, n: int) -> NDArray[Any]:
    """One column, group by group, the kernels of a candidate behind each other."""
    out, end = np.empty(n, dtype=column.dtype), 0
    for rows, kernels in groups:
        start, end = end, end + len(rows) * len(kernels)
        for i, kernel in enumerate(kernels):
            out[start + i : end : len(kernels)] = kernel.get(column.name, column.default)
    return out
