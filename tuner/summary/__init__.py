"""From the loop nest of N candidates to a kernel table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hwsim.columns import columns_of
from hwsim.table import KernelTable
from tuner.nest import Nest, Statement
from tuner.summary import ascend, cpu, gpu, mlu
from tuner.summary.common import Columns
from tuner.summary.roles import Kernel
from tuner.summary.rows import Group, scattered, table_of

__all__ = ["Columns", "Group", "kernel_columns", "kernel_table", "scattered", "table_of"]

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
