"""What the accelerators with scratchpads have in common: copies, matrix instructions, buffers.

The loops of a statement are those it shares with others, which count how often it is made, and its
**own**, which make one transfer or one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tuner.nest import Access, Buffer, Digit, IntColumn, Statement
from tuner.summary.common import Columns
from tuner.summary.geometry import (
    Region,
    address_step,
    element_bytes,
    elements,
    extents,
    product,
    strides,
    walk,
)
from tuner.summary.roles import Kernel, serial
from tuner.summary.streams import Movement

ALLOCATION_BYTES = 512  # tensors start at multiples of this


def loops(kernel: Kernel, s: Statement) -> tuple[list[Digit], list[Digit]]:
    """``(shared, own)`` serial digits of a statement."""
    others = {d.name for other in kernel.statements if other is not s for d in other.digits}
    digits = serial(s)
    shared = [d for d in digits if d.name in others]
    return shared, [d for d in digits if d.name not in others]


def transfer(
    kernel: Kernel,
    s: Statement,
    access: Access,
    stream: str,
    *,
    expanded: bool = False,
    share: IntColumn | int = 1,
) -> Movement:
    """One access of a statement as a stream: a transfer each time its own loops run.

    A transfer moves what is distinct of the region, or (``expanded``) an element for each
    iteration, as a copy does that repeats overlapping windows of a convolution.  ``share``: blocks
    that make one transfer together.
    """
    n, buffer = kernel.n, kernel.buffer(access)
    shared, own = loops(kernel, s)
    count, size = extents(shared, n), element_bytes(buffer)
    repeated = extents(own, n) * product(access.extent, n)
    region = Region(access, buffer, n).grow(own)
    if expanded:
        moved, length = repeated, _windowed(access, own, buffer, n)
    else:
        moved, length = np.minimum(region.elements, repeated), region.run
    names = {d.name for d in own}
    region.grow(d for d in s.digits if d.name not in names)
    return Movement(
        stream,
        buffer.name,
        count,
        (count * moved * size / share).astype(np.float64),
        (region.elements * size).astype(np.float64),
        {"run_bytes": length * size, "align_bytes": _alignment(access, s, own, buffer, length, n)},
    )


def _windowed(access: Access, own: Sequence[Digit], buffer: Buffer, n: int) -> IntColumn:
    """Contiguous elements in the order in which the copy goes through them."""
    path = walk(access, own, buffer, n)
    return np.where(path.step1 == 1, path.run, 1)


def _alignment(
    access: Access, s: Statement, own: Sequence[Digit], buffer: Buffer, length: IntColumn, n: int
) -> IntColumn:
    """Power of two, in bytes, that divides the start of every contiguous run.

    The lowest bit that any step has set, so that the steps need no greatest common divisor.
    """
    steps = np.zeros(n, dtype=np.int64)
    stride = strides(buffer, n)
    for digit in s.digits:
        step = address_step(access, digit, stride, n)
        inside = (digit in own) & (step < length)
        steps |= np.where((digit.extent > 1) & ~inside, step, 0)
    steps = (steps * element_bytes(buffer)).astype(np.int64)
    return np.where(steps == 0, ALLOCATION_BYTES, np.minimum(steps & -steps, ALLOCATION_BYTES))


def matrix(kernel: Kernel) -> Columns:
    """``mm_*``: one instruction is all that the main statement does on one load of its operands."""
    main, n = kernel.main, kernel.n
    if main.intrin is None:
        return {}
    copies = [w for r in main.reads[:2] for w in kernel.writers(r.buffer)]
    names = {d.name for copy in copies for d in copy.digits}
    inside = [d for d in serial(main) if d.name not in names]
    size = dict(zip("mnk", main.intrin, strict=True))
    tile = {axis: kernel.extent(inside, axis) * size[axis] for axis in "mnk"}
    return {
        "mm_count": extents([d for d in serial(main) if d.name in names], n),
        "mm_m": tile["m"] * kernel.extent(inside, "batch"),
        "mm_n": tile["n"],
        "mm_k": tile["k"],
    }


def capacity(kernel: Kernel, column: str, scope: str, *, raw: bool = False) -> Columns:
    """``{column}_bytes``, ``_staged_bytes`` and ``_buffers`` of a memory scope.

    ``raw``: the memory holds its source as it is, and windows of a convolution are expanded on the
    way out of it; so a buffer takes no more than the distinct elements of what is copied in.
    """
    n = kernel.n
    size, staged = np.zeros(n), np.zeros(n)
    copies = np.ones(n, dtype=np.int64)
    for buffer in _in_scope(kernel, scope):
        taken = _taken(kernel, buffer) if raw else elements(buffer, n)
        stages = _stages(kernel, buffer)
        size += taken * element_bytes(buffer)
        staged += np.where(stages > 1, taken * element_bytes(buffer), 0)
        copies = np.maximum(copies, stages)
    return {
        f"{column}_bytes": size,
        f"{column}_staged_bytes": staged,
        f"{column}_buffers": copies,
    }


def dealt(kernel: Kernel, columns: Columns) -> Columns:
    """The columns of blocks that are dealt round robin to fewer cores than there are blocks.

    A core that takes part is then one block, which makes the work of several in turn; the busiest
    ones make one more than others.
    """
    found = [s.dealt_to for s in kernel.statements if s.dealt_to is not None]
    if not found:
        return columns
    tiles = extents([d for d in kernel.main.digits if d.kind.startswith("blockIdx")], kernel.n)
    cores = np.minimum(found[0], tiles)
    turns = -(-tiles // cores)
    counts = {name: c * turns for name, c in columns.items() if name.endswith("_count")}
    return {
        **columns,
        **counts,
        "out_tiles": columns["out_tiles"] * turns,
        "blocks": columns["blocks"] // tiles * cores,
        "work_share": tiles / (cores * turns),
    }


def _in_scope(kernel: Kernel, scope: str) -> list[Buffer]:
    used = (a.buffer for s in kernel.statements for a in (*s.reads, s.write))
    return [b for name in dict.fromkeys(used) if (b := kernel.nest.buffers[name]).scope == scope]


def _stages(kernel: Kernel, buffer: Buffer) -> IntColumn:
    ones = np.ones(kernel.n, dtype=np.int64)
    found = (s.stages for s in kernel.statements if s.write.buffer == buffer.name)
    return reduce(np.maximum, (c for c in found if c is not None), ones)


def _taken(kernel: Kernel, buffer: Buffer) -> NDArray[np.int64]:
    taken = elements(buffer, kernel.n)
    for s in kernel.statements:
        if s.write.buffer == buffer.name and s.role == "copy":
            own = loops(kernel, s)[1]
            source = kernel.buffer(s.reads[0])
            taken = np.minimum(taken, Region(s.reads[0], source, kernel.n).grow(own).elements)
    return taken
