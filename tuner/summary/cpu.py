"""Backend ``cpu``: the columns of a kernel that LLVM compiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hwsim.columns import CPU_LEVELS
from tuner.nest import Access, Digit, IntColumn, Statement
from tuner.summary.common import Columns, common
from tuner.summary.cpu_loops import parallel_extent, unrolled, vector_lanes
from tuner.summary.geometry import (
    Region,
    address_step,
    element_bytes,
    extents,
    strides,
)
from tuner.summary.roles import Kernel
from tuner.summary.streams import Movement, stream_columns

_TASK_LEVEL = 2  # tiles that a core's own caches should hold: what memory is read for at a time


def columns(kernel: Kernel) -> Columns:
    """All columns of one kernel, the same before and after TVM's postprocessors."""
    levels = digit_levels(kernel.main, kernel.n)
    tasks = parallel_extent(kernel)
    lanes = vector_lanes(kernel)
    return {
        **common(kernel),
        **_tiles(kernel, levels),
        **_levels(kernel, levels),
        **stream_columns(_movements(kernel, levels, tasks), "memory"),
        "blocks": tasks,
        "vector_lanes": lanes,
        "vector_stride": _vector_stride(kernel, lanes),
        "body_copies": unrolled(kernel, lanes),
        "acc_bytes": _accumulators(kernel, levels),
    }


def digit_levels(statement: Statement, n: int) -> list[IntColumn]:
    """The tile level ``(n,)`` of each digit of a statement, innermost digit last.

    From the innermost loop outwards a new level begins where loops over the output and loops over
    the reduction take turns; level 0 are output loops (none, where the innermost is a reduction).
    """
    level = np.zeros(n, dtype=np.int64)
    reducing = np.zeros(n, dtype=bool)
    out = []
    for digit in reversed(statement.digits):
        turn = (digit.extent > 1) & (reducing != digit.reduction)
        level = level + turn
        reducing = np.where(turn, digit.reduction, reducing)
        out.append(level)
    return out[::-1]


def _inside(statement: Statement, levels: list[IntColumn], level: int) -> list[Digit]:
    """The digits with extent 1 in those rows where they lie beyond a level."""
    pairs = zip(statement.digits, levels, strict=True)
    return [replace(d, extent=np.where(at <= level, d.extent, 1)) for d, at in pairs]


def _tiles(kernel: Kernel, levels: list[IntColumn]) -> Columns:
    """The register tile and the reduction step around it; nothing depends on loops' kinds."""
    main, n = kernel.main, kernel.n
    tile, step = _inside(main, levels, 0), _inside(main, levels, 1)
    reduction = [d for d in main.digits if d.reduction]
    tile_k = extents([d for d in step if d.reduction], n)
    length = extents(reduction, n)
    spatial = extents([d for d in main.digits if not d.reduction], n)
    tile_m, tile_n = kernel.extent(tile, "m"), kernel.extent(tile, "n")
    one = np.ones(n, dtype=np.int64)
    return {
        "tile_m": tile_m * kernel.extent(tile, "batch"),
        "tile_n": tile_n,
        "tile_k": tile_k,
        "reduce_length": length,
        "reduce_inner": tile_k,
        "k_steps": length // tile_k,
        "out_tiles": spatial // extents([d for d in tile if not d.reduction], n),
        "spatial_inner": tile_n,
        "loop_depth": one,
        **dict.fromkeys(("grid_m", "grid_n", "grid_batch"), one),
    }


def _accumulators(kernel: Kernel, levels: list[IntColumn]) -> NDArray[np.float64]:
    size = element_bytes(kernel.buffer(kernel.main.write))
    return np.asarray(extents(_inside(kernel.main, levels, 0), kernel.n) * size)


def _levels(kernel: Kernel, levels: list[IntColumn]) -> Columns:
    main, n = kernel.main, kernel.n
    everything = extents(main.digits, n)
    out: Columns = {}
    for level in range(CPU_LEVELS):
        inside = _inside(main, levels, level)
        touched = (_bytes(kernel, a, inside) for a in (*main.reads, main.write))
        out[f"level{level}_bytes"] = np.asarray(sum(touched), dtype=np.float64)
        out[f"level{level}_runs"] = everything // extents(inside, n)
    return out


def _bytes(kernel: Kernel, access: Access, digits: Iterable[Digit]) -> NDArray[np.float64]:
    buffer = kernel.buffer(access)
    touched = Region(access, buffer, kernel.n).grow(digits).elements
    return np.asarray(touched * element_bytes(buffer), dtype=np.float64)


def _vector_stride(kernel: Kernel, lanes: IntColumn) -> IntColumn:
    """Widest step between lanes; a vectorised innermost loop that strides gathers its elements."""
    innermost = next(reversed(kernel.main.digits), None)
    widest = np.zeros(kernel.n, dtype=np.int64)
    if innermost is None:
        return widest
    for access in (*kernel.main.reads, kernel.main.write):
        step = address_step(access, innermost, strides(kernel.buffer(access), kernel.n), kernel.n)
        widest = np.maximum(widest, step)
    return np.where(lanes > 1, widest, 0)


def _movements(kernel: Kernel, levels: list[IntColumn], tasks: IntColumn) -> Iterator[Movement]:
    """What comes from memory and goes there, tile by tile of the main statement; other statements
    move their tensors once.
    """
    written = {s.write.buffer for s in kernel.statements}
    read = {r.buffer for s in kernel.statements for r in s.reads}
    main, n = kernel.main, kernel.n
    inside = _inside(main, levels, _TASK_LEVEL)
    tiles = extents(main.digits, n) // extents(inside, n)
    for s in kernel.statements:
        digits, count = (inside, tiles) if s is main else (s.digits, np.ones(n, dtype=np.int64))
        for access in s.reads:
            if access.buffer not in written:
                stream = f"{kernel.label(access)}_memory_core"
                yield _movement(kernel, stream, access, digits, count, tasks, s)
        if s.write.buffer not in read:
            yield _movement(kernel, "c_core_memory", s.write, digits, count, tasks, s)


def _movement(
    kernel: Kernel,
    stream: str,
    access: Access,
    digits: Iterable[Digit],
    count: IntColumn,
    tasks: IntColumn,
    statement: Statement,
) -> Movement:
    inside, buffer, n = list(digits), kernel.buffer(access), kernel.n
    each = np.maximum(1, count // tasks)
    return Movement(
        stream=stream,
        tensor=access.buffer,
        count=each,
        block_bytes=_bytes(kernel, access, inside) * count / tasks,
        unique_bytes=_bytes(kernel, access, statement.digits),
        shape={"run_bytes": Region(access, buffer, n).grow(inside).run * element_bytes(buffer)},
    )
