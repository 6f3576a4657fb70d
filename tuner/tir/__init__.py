"""The first road to a kernel table: analysing the scheduled TIR of one candidate."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hwsim.table import KernelTable
from tuner.nest import Nest
from tuner.summary import kernel_table
from tuner.tir.affine import Unsupported
from tuner.tir.body import useful_macs
from tuner.tir.build import nest_of
from tuner.workloads import Workload

__all__ = ["Unsupported", "kernels", "nest", "nest_of"]


def nest(sch: Any, workload: Workload) -> Nest:
    """The loop nest of a scheduled candidate of ``workload``; see :func:`nest_of`."""
    return nest_of(sch, workload.flops, _macs(workload))


def kernels(sch: Any, workload: Workload, backend: str) -> KernelTable:
    """The kernel table of one scheduled candidate, a row for each launched kernel.

    Raises
    ------
    Unsupported
        The program holds something that the analysis cannot read; the message names it.
    ValueError
        Unknown backend.
    """
    return kernel_table(nest(sch, workload), backend)


@lru_cache(maxsize=256)
def _macs(workload: Workload) -> float:
    return useful_macs(workload.prim_func())
