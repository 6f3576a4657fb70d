"""From the loop nest of N candidates to a kernel table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.columns import Column, columns_of
from hwsim.table import KernelTable
from tuner.nest import Nest, Statement
from tuner.summary import ascend, cpu, gpu, mlu
from tuner.summary.common import Columns
from tuner.summary.roles import Kernel

__all__ = ["Columns", "joined", "kernel_columns", "kernel_table", "table_of"]

_OF_BACKEND: dict[str, tuple[Callable[[Kernel], Columns], tuple[str, ...]]] = {
    "ascend_cube": (ascend.columns, ("blockIdx",)),
    "mlu_sram": (mlu.columns, mlu.GRID),
    "gpu_sm": (gpu.columns, ("blockIdx",)),
    "cpu": (cpu.columns, ("parallel",)),
}


_KEPT = ("threadIdx", "vectorize")  # kinds of digits that say something with extent 1


def kernel_table(nest: Nest, backend: str) -> KernelTable:
    """The kernel table of a nest: a row for each launched kernel of each of its ``n`` candidates.

    Raises
    ------
    ValueError
        Unknown backend, or an element type of unknown width.
    """
    return table_of(kernel_columns(nest, backend), backend, nest.n)


def kernel_columns(nest: Nest, backend: str) -> list[Columns]:
    """The columns ``(n,)`` of each launched kernel of a nest; raises as :func:`kernel_table`."""
    columns_of(backend)
    if backend != "cpu":  # there a unit loop says where another statement sits, and ends a vector
        nest = _without_units(nest)
    fill, grid = _OF_BACKEND[backend]
    return [fill(Kernel(nest, statements, grid)) for statements in nest.kernels]


def joined(parts: Sequence[tuple[Sequence[Columns], int]], backend: str) -> list[Columns]:
    """The columns of the kernels of several groups of candidates, one group behind the other;
    each with its number of candidates, all with the same number of kernels.
    """
    schema = columns_of(backend)
    out = []
    for kernels in zip(*(kernels for kernels, _ in parts), strict=True):
        names = dict.fromkeys(name for kernel in kernels for name in kernel)
        sizes = [n for _, n in parts]
        out.append({name: _stacked(kernels, sizes, schema[name]) for name in names})
    return out


def _stacked(kernels: Sequence[Columns], sizes: Sequence[int], column: Column) -> NDArray[Any]:
    out = np.empty(sum(sizes), dtype=column.dtype)
    end = 0
    for kernel, n in zip(kernels, sizes, strict=True):
        end += n
        out[end - n : end] = kernel.get(column.name, column.default)
    return out


def table_of(kernels: Sequence[Columns], backend: str, n: int) -> KernelTable:
    """The kernel table of ``n`` candidates with the columns of each of their kernels."""
    if len(kernels) == 1:
        return KernelTable(backend, n, kernels[0])
    schema = columns_of(backend)
    columns = {}
    for name in dict.fromkeys(name for kernel in kernels for name in kernel):
        default = np.full(n, schema[name].default)
        stacked = [np.broadcast_to(kernel.get(name, default), (n,)) for kernel in kernels]
        columns[name] = np.stack(stacked, axis=1).reshape(-1)
    columns["candidate"] = np.repeat(np.arange(n, dtype=np.int64), len(kernels))
    return KernelTable(backend, n * len(kernels), columns)


def _without_units(nest: Nest) -> Nest:
    """The same nest without the digits that have extent 1 in every candidate.

    Threads stay: where the threadIdx loop of a statement is says which loops all threads share.
    So does a vectorised loop: one lane says something else than no vectorised loop.
    """
    digits = {d.name: d for statements in nest.kernels for s in statements for d in s.digits}
    kept = {name for name, d in digits.items() if d.kind.startswith(_KEPT) or np.any(d.extent != 1)}
    kernels = tuple(tuple(_with(s, kept) for s in statements) for statements in nest.kernels)
    return replace(nest, kernels=kernels)


def _with(statement: Statement, names: set[str]) -> Statement:
    return replace(statement, digits=tuple(d for d in statement.digits if d.name in names))
