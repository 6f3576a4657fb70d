"""What is allocated: the hull of all accesses at their lowest common loop, as expressions.

The same rule as :mod:`tuner.tir.compact` has for one program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tuner.columns.expr import Expr, add, ceildiv, const, maximum, minimum, modulo, mul, value_of
from tuner.columns.placement import is_thread
from tuner.columns.program import Block, Buffer, Coefs, Digit, Dim, Loop, Region, hull, over_digits

Use = tuple[Block, Region]


def compacted(buffer: Buffer, uses: Sequence[Use]) -> tuple[Expr, ...]:
    """Extents of an allocated buffer that blocks use in the given regions."""
    if buffer.scope == "global":
        return buffer.shape
    depth = _common_depth([_path(block) for block, _ in uses])
    hulls = [_hulls(region, relaxed(block, depth, buffer.scope)) for block, region in uses]
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


def relaxed(block: Block, depth: int, scope: str) -> set[Digit]:
    """Digits that one copy of the buffer has to span.

    All loops from ``depth`` on; shared memory also spans the threads, registers do not.
    """
    spans_threads = scope.startswith("shared")
    out: set[Digit] = set()
    for i, loop in enumerate(_path(block)):
        inside = i >= depth and not loop.kind.startswith("blockIdx")
        if spans_threads if is_thread(loop.kind) else inside:
            out.update(loop.digits)
    return out


def _hulls(region: Region, digits: set[Digit]) -> list[Expr]:
    return [_hull(dim, digits) for dim in region.dims]


def _hull(dim: Dim, digits: set[Digit]) -> Expr:
    extent = dim.extent
    for q in dim.quasi:
        steps = ceildiv(add(_span(over_digits(q.coefs), digits), const(-1)), const(q.div))
        if q.mod:
            steps = minimum(steps, const(q.mod - 1))
        extent = add(extent, mul(absolute(q.scale), steps))
    return _span(over_digits(dim.coefs), digits, extent)


def _span(coefs: Mapping[Digit, Expr], digits: set[Digit], inner: Expr | None = None) -> Expr:
    chosen: Coefs = {d: absolute(c) for d, c in coefs.items() if d in digits}
    return hull(chosen) if inner is None else hull(chosen, inner)


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
