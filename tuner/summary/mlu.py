"""Backend ``mlu_sram``: the columns of a kernel on clusters of cores."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import numpy as np

from tuner.nest import IntColumn, Statement
from tuner.summary.common import Columns, common
from tuner.summary.geometry import element_bytes, extents
from tuner.summary.npu import capacity, dealt, loops, matrix, transfer
from tuner.summary.passes import Passes, passes_in, vector_columns
from tuner.summary.roles import Kernel, threads_of
from tuner.summary.streams import Movement, stream_columns

GRID = ("blockIdx", "threadIdx")  # a block is one core's program
_SRAM, _NRAM, _WRAM = "shared.sram", "local.nram", "local.wram"
# Filters come to WRAM through a transpose, a reshape and the copy (mlu-ops, matmul of [k, n]).
_FILTER_PASSES = 3


def columns(kernel: Kernel) -> Columns:
    """All columns of one kernel."""
    cores = _cores(kernel)
    movements = [m for s in kernel.statements for m in _movements(kernel, s, cores)]
    out = {**common(kernel), **matrix(kernel), **stream_columns(movements, "gdram")}
    out |= capacity(kernel, "sram", _SRAM, raw=True)
    out |= capacity(kernel, "nram", _NRAM)
    out |= capacity(kernel, "wram", _WRAM)
    passes = list(passes_in(kernel, _NRAM))
    if kernel.main.intrin is not None:
        sums, arrangement = _matrix_work(kernel, out)
        out |= arrangement
        passes.append(sums)
    out = dealt(kernel, {**out, **vector_columns(passes, kernel.n)})
    return {**out, "cores_per_cluster": cores, "clusters": out["blocks"] // cores}


def _cores(kernel: Kernel) -> IntColumn:
    """Cores of a cluster: they divide the copies into its SRAM."""
    used = (extents(threads_of(s), kernel.n) for s in kernel.statements)
    return reduce(np.maximum, used)


def _movements(kernel: Kernel, s: Statement, cores: IntColumn) -> Iterator[Movement]:
    to = kernel.scope(s.write)
    memory = {_NRAM: "nram", _WRAM: "wram"}.get(to, "nram")
    for read in s.reads:
        source, label = kernel.scope(read), kernel.label(read)
        if source == "global" and to == _SRAM:
            yield transfer(kernel, s, read, f"{label}_gdram_sram", share=cores)
        elif source == "global":
            staged = s.role == "copy" and label != "x" and kernel.main.intrin is not None
            stream = f"{label if staged else 'x'}_gdram_{memory}"
            yield transfer(kernel, s, read, stream, expanded=staged)
        elif source == _SRAM:
            yield transfer(kernel, s, read, f"{label}_sram_{memory}", expanded=True)
    if to == "global":
        yield transfer(kernel, s, s.write, "c_nram_gdram")


def _matrix_work(kernel: Kernel, columns: Columns) -> tuple[Passes, Columns]:
    """What a matrix instruction needs besides itself.

    It does not accumulate: from the second reduction step on its product comes to lie in NRAM
    beside the sum, and a vector pass adds it.  Filters are brought into the order of WRAM in NRAM,
    in the place of that product.
    """
    main = kernel.main
    m, n, k = (columns[f"mm_{axis}"] for axis in "mnk")
    steps = columns["reduce_length"] // k
    product = m * n * element_bytes(kernel.buffer(main.write))
    size = n * k * element_bytes(kernel.buffer(main.reads[1]))
    filters = [w for w in kernel.writers(main.reads[1].buffer) if w.role == "copy"]
    loads = [extents(loops(kernel, w)[0], kernel.n) * _FILTER_PASSES for w in filters]
    scratch = np.maximum(np.where(steps > 1, product, 0), 2 * size)
    sums = Passes(np.where(steps > 1, columns["mm_count"], 0), product, product)
    return sums, {
        "rearrange_count": reduce(np.add, loads, np.zeros(kernel.n, dtype=np.int64)),
        "rearrange_bytes": size,
        "nram_bytes": columns["nram_bytes"] + scratch,
    }
