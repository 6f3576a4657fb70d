"""The first road to a kernel table: analysing the scheduled TIR of one candidate."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

from hwsim.table import KernelTable
from tuner.nest import Nest
from tuner.summary import kernel_table
from tuner.tir.body import body_of
from tuner.tir.build import nest_of
from tuner.tir.radix import Unsupported
from tuner.tir.walk import REDUCTION, read
from tuner.workloads import Workload

__all__ = ["Unsupported", "kernels", "nest", "nest_of"]


def nest(sch: Any, workload: Workload) -> Nest:
    """The loop nest of a scheduled candidate of ``workload``; see :func:`nest_of`."""
    return nest_of(sch, workload.flops, *_products(workload))


def kernels(sch: Any, workload: Workload | None, backend: str) -> KernelTable:
    """The kernel table of one scheduled candidate, a row for each launched kernel.

    Without a ``workload`` all executed operations count as useful ones.

    Raises
    ------
    Unsupported
        The program holds something that the analysis cannot read; the message names it.
    ValueError
        Unknown backend.
    """
    if workload is not None:
        return kernel_table(nest(sch, workload), backend)
    table = kernel_table(nest_of(sch, 0.0), backend)
    executed = 2 * table["macs"] + table["alu_ops"] + table["special_ops"]
    columns = {name: table[name] for name in table}
    useful = {"flops": executed, "macs_useful": table["macs"]}
    return KernelTable(backend, len(table), {**columns, **useful})


@lru_cache(maxsize=256)
def _products(workload: Workload) -> tuple[float, int]:
    """Multiply-accumulates of the unscheduled program, the loop products of its MAC blocks; and how
    many of them its longest sum has.
    """
    blocks = [b for kernel in read(workload.prim_func()).kernels for b in kernel]
    counted = [(b, macs) for b in blocks if (macs := body_of(b.block).ops.macs)]
    total = sum(macs * prod(loop.extent for loop in b.loops) for b, macs in counted)
    return float(total), max((_reduction(b.block) for b, _ in counted), default=0)


def _reduction(block: Any) -> int:
    """Iterations of a block that add to one element."""
    return prod(int(v.dom.extent) for v in block.iter_vars if v.iter_type == REDUCTION)
