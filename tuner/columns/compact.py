"""What is allocated: the hull of all accesses at their lowest common loop, as expressions.

The same rule as :mod:`tuner.tir.compact` has for one program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.columns.expr import (
    ONE,
    ZERO,
    Expr,
    add,
    ceildiv,
    const,
    maximum,
    minimum,
    modulo,
    mul,
    value_of,
)
from tuner.columns.placement import is_thread
from tuner.columns.program import Block, Buffer, Coefs, Digit, Loop, hull
from tuner.columns.radix import Radix, Resolved


@dataclass(frozen=True)
class Use:
    """A block's access to a buffer: where each dimension starts, and how long it is."""

    block: Block
    start: tuple[Resolved, ...]
    extent: tuple[Expr, ...]


def compacted(buffer: Buffer, uses: Sequence[Use], radix: Radix) -> tuple[Expr, ...]:
    """Extents of an allocated buffer with the given uses."""
    if buffer.scope == "global":
        return buffer.shape
    depth = _common_depth([_path(use.block) for use in uses])
    hulls = [_hulls(use, _relaxed(use.block, depth, buffer.scope, radix)) for use in uses]
    return tuple(_widest(full, sizes) for full, *sizes in zip(buffer.shape, *hulls, strict=True))


def _widest(full: Expr, sizes: Sequence[Expr]) -> Expr:
    out = sizes[0]
    for size in sizes[1:]:
        out = maximum(out, size)
    return minimum(out, full)


def _path(block: Block) -> list[Loop]:
    return block.ancestors()[::-1]


def _common_depth(paths: Sequence[Sequence[Loop]]) -> int:
    depth = min(len(p) for p in paths)
    while any(p[:depth] != paths[0][:depth] for p in paths):
        depth -= 1
    return depth


def _hulls(use: Use, digits: set[Digit]) -> list[Expr]:
    return [_hull(s, e, digits) for s, e in zip(use.start, use.extent, strict=True)]


def _relaxed(block: Block, depth: int, scope: str, radix: Radix) -> set[Digit]:
    """Digits that one copy of the buffer has to span.

    All loops from ``depth`` on; shared memory also spans the threads, registers do not.
    """
    spans_threads = scope.startswith("shared")
    out: set[Digit] = set()
    for i, loop in enumerate(_path(block)):
        inside = i >= depth and not loop.kind.startswith("blockIdx")
        if spans_threads if is_thread(loop.kind) else inside:
            out.update(leaf for d in loop.digits for leaf in radix.leaves(d))
    return out


def _hull(start: Resolved, extent: Expr, digits: set[Digit]) -> Expr:
    for s in start.splits:
        steps = ceildiv(add(_span(s.coefs, digits, ONE), const(-1)), s.div)
        if s.mod != ZERO:
            steps = minimum(steps, add(s.mod, const(-1)))
        extent = add(extent, mul(absolute(s.scale), steps))
    return _span(start.coefs, digits, extent)


def _span(coefs: Mapping[Digit, Expr], digits: set[Digit], inner: Expr) -> Expr:
    chosen: Coefs = {d: absolute(c) for d, c in coefs.items() if d in digits}
    return hull(chosen, inner)


def absolute(e: Expr) -> Expr:
    """Magnitude of a coefficient; only constants can be negative."""
    value = value_of(e)
    return e if value is None else const(abs(value))


def row_pad(buffer: Buffer, shape: Sequence[Expr]) -> Expr:
    """Elements that ``storage_align`` adds to each row: the stride becomes offset mod factor."""
    if buffer.align is None:
        return const(0)
    axis, factor, offset = buffer.align
    stride = mul(*shape[axis % len(shape) + 1 :])
    return modulo(add(const(offset), mul(const(-1), stride)), const(factor))
