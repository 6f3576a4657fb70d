"""compute_at and reverse_compute_at: a block moves below a loop and shrinks to what is needed.

TVM takes the region that the blocks below the loop need (or provide), relaxed over the loops
between, and gives the moved block one loop for each of its axes over the hull of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from tuner.columns.context import Context, Handler
from tuner.columns.expr import ONE, Expr, ceildiv, maximum, minimum, quotient, value_of
from tuner.columns.forms import Form
from tuner.columns.program import (
    Axis,
    Block,
    Coefs,
    Digit,
    Dim,
    Loop,
    Node,
    Program,
    Region,
    Unsupported,
    hull,
    remove,
)

_LAST = -1  # insert as late as possible


def compute_at(ctx: Context, inst: Any) -> None:
    """Move a producer below a loop, in front of its first consumer there."""
    block, loop = ctx.block(inst.inputs[0]), ctx.loop(inst.inputs[1])
    written = block.writes[0]
    users = [b for b in loop.blocks() if any(r.buffer == written.buffer for r in b.reads)]
    spans_threads = ctx.program.buffers[written.buffer].scope.startswith("shared")
    needed = [
        _needed(r, b, loop, spans_threads)
        for b in users
        for r in b.reads
        if r.buffer == written.buffer
    ]
    whole = ctx.program.buffers[written.buffer].shape
    _move(block, loop, written, _union(block, needed, whole))
    first = min((_child_of(loop, b) for b in users), default=len(loop.children))
    _insert(block, loop, first, inst)


def reverse_compute_at(ctx: Context, inst: Any) -> None:
    """Move a consumer below a loop, behind the producers there."""
    block, loop = ctx.block(inst.inputs[0]), ctx.loop(inst.inputs[1])
    read, provided = _provided(block, loop)
    _move(block, loop, read, _union(block, provided, ctx.program.buffers[read.buffer].shape))
    consumers = _consumers_below(ctx.program, block, loop)
    end = min((_child_of(loop, b) for b in consumers), default=len(loop.children))
    _insert(block, loop, end, inst)


def _provided(block: Block, loop: Loop) -> tuple[Region, list[_Need]]:
    found: dict[str, list[_Need]] = {}
    for producer in loop.blocks():
        for region in producer.writes:
            if any(r.buffer == region.buffer for r in block.reads):
                need = _needed(region, producer, loop, spans_threads=False)
                found.setdefault(region.buffer, []).append(need)
    if len(found) != 1:
        raise Unsupported(f"block {block.name}: reads {len(found)} buffers made below the loop")
    ((buffer, needs),) = found.items()
    return next(r for r in block.reads if r.buffer == buffer), needs


def _consumers_below(program: Program, block: Block, loop: Loop) -> list[Block]:
    written = {w.buffer for w in block.writes}
    return [
        b for b in loop.blocks() if b is not block and any(r.buffer in written for r in b.reads)
    ]


def _child_of(loop: Loop, node: Node) -> int:
    while node.parent is not loop:
        assert node.parent is not None
        node = node.parent
    return loop.children.index(node)


_Need = list[tuple[Coefs, Expr]]  # for each dimension: where it starts, and its length


def _needed(region: Region, block: Block, loop: Loop, spans_threads: bool) -> _Need:
    relaxed = set(relaxed_below(block, loop, spans_threads))
    return [_relax(dim, relaxed) for dim in region.dims]


def relaxed_below(block: Block, loop: Loop, spans_threads: bool) -> list[Digit]:
    """Digits between ``loop`` (excluded) and the block; with threads also those further out."""
    above = block.ancestors()
    inside = above[: above.index(loop)]
    outside = above[above.index(loop) :] if spans_threads else []
    loops = [*inside, *(o for o in outside if is_thread(o.kind))]
    return [d for loop in loops for d in loop.digits]


def is_thread(kind: str) -> bool:
    """Threads of a block, virtual ones included."""
    return kind.startswith("threadIdx") or kind == "vthread"


def _relax(dim: Dim, relaxed: set[Digit]) -> tuple[Coefs, Expr]:
    form = dim.over_digits()
    if form.quotients:
        raise Unsupported("compute_at of a region with quotients")
    coefs = form.coefs
    if any((value_of(c) or 0) < 0 for c in coefs.values()):
        raise Unsupported("compute_at of a region that runs backwards")
    inner = {d: c for d, c in coefs.items() if d in relaxed}
    outer = {d: c for d, c in coefs.items() if d not in relaxed}
    return outer, hull(inner, dim.extent)


def _union(block: Block, needs: Sequence[_Need], whole: Sequence[Expr]) -> _Need:
    """The hull of regions of a buffer with the extents ``whole``."""
    if not needs:
        raise Unsupported(f"block {block.name}: nothing below the loop needs it")
    return [_hull_of(block, parts, full) for *parts, full in zip(*needs, whole, strict=True)]


def _hull_of(block: Block, parts: Sequence[tuple[Coefs, Expr]], full: Expr) -> tuple[Coefs, Expr]:
    """The hull along one dimension: all of it as soon as one part is, whatever the others are."""
    if any(not start and minimum(length, full) == full for start, length in parts):
        return {}, full
    start = parts[0][0]
    if any(other != start for other, _ in parts):
        raise Unsupported(f"block {block.name}: needed from different places")
    return start, reduce(maximum, (length for _, length in parts))


def _move(block: Block, loop: Loop, region: Region, need: _Need) -> None:
    """Rebind the axes of ``block`` so that ``region`` covers ``need``; digits below ``loop``."""
    remove(block)
    covered = {}
    for dim, part in zip(region.dims, need, strict=True):
        covered.update({axis: (*part, scale) for axis, scale in dim.start.coefs.items()})
    for i, axis in enumerate(block.axes):
        digit = Digit(f"ax{i}", axis.extent, axis.reduction)
        axis.binding = Form({digit: ONE})
        if axis in covered:
            _cover(block, axis, digit, *covered[axis])


def _cover(block: Block, axis: Axis, digit: Digit, outer: Coefs, length: Expr, scale: Expr) -> None:
    digit.extent = minimum(ceildiv(length, scale), axis.extent)
    start = {}
    for d, c in outer.items():
        exact = quotient(c, scale)
        if exact is None:
            raise Unsupported(f"block {block.name}: {axis.name} does not start at a multiple")
        start[d] = exact
    axis.binding = Form({**start, digit: ONE})


def _insert(block: Block, loop: Loop, index: int, inst: Any) -> None:
    if int(inst.attrs[1]) != _LAST:
        raise Unsupported("compute_at with an explicit position")
    parent: Loop = loop
    for axis in block.axes:
        inner = Loop(digits=[list(axis.binding.coefs)[-1]])
        parent.insert(index, inner)
        parent, index = inner, 0
    parent.insert(index, block)


HANDLERS: dict[str, Handler] = {
    "ComputeAt": compute_at,
    "ReverseComputeAt": reverse_compute_at,
}
