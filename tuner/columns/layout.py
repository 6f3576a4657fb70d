"""Instructions that change layouts or make blocks opaque: transform_layout, blockize."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvm import prim
from tvm.ir import Var

from tuner.columns.context import Context, Handler
from tuner.columns.expr import ONE, Expr, add, ceildiv, const, minimum, mul, quotient
from tuner.columns.forms import Form
from tuner.columns.loops import split_digit
from tuner.columns.program import (
    Axis,
    Block,
    Coefs,
    Digit,
    Dim,
    Loop,
    Region,
    Unsupported,
    hull,
)


@dataclass(frozen=True)
class _Part:
    """A new dimension: ``old[dim] // low % size`` (``size`` None: no modulus)."""

    dim: int
    low: Expr
    size: Expr | None

    @property
    def high(self) -> Expr | None:
        """The stride at which the part wraps around."""
        return None if self.size is None else mul(self.low, self.size)


def transform_layout(ctx: Context, inst: Any) -> None:
    """Cut the dimensions of a buffer into digits of their indices."""
    block, index_map = ctx.block(inst.inputs[0]), inst.inputs[1]
    is_write = int(inst.attrs[1])
    name = (block.writes if is_write else block.reads)[int(inst.attrs[0])].buffer
    old = {v.__chandle__(): i for i, v in enumerate(index_map.initial_indices)}
    parts = [_part(ctx, e, old) for e in index_map.final_indices]
    for user in {*ctx.program.readers(name), *ctx.program.writers(name)}:
        _cut_axes(user, name, parts)
        user.reads = [_in_parts(r, name, parts) for r in user.reads]
        user.writes = [_in_parts(w, name, parts) for w in user.writes]
    buffer = ctx.program.buffers[name]
    buffer.shape = tuple(_size(p, buffer.shape) for p in parts)


def _part(ctx: Context, e: Any, old: Mapping[int, int]) -> _Part:
    if isinstance(e, Var) and e.__chandle__() in old:
        return _Part(old[e.__chandle__()], ONE, None)
    if isinstance(e, prim.FloorDiv | prim.FloorMod):
        inner = _part(ctx, e.a, old)
        by = _factor(ctx, e.b)
        if inner.size is None and isinstance(e, prim.FloorDiv):
            return replace(inner, low=mul(inner.low, by))
        if inner.size is None:
            return replace(inner, size=by)
    raise Unsupported(f"transform_layout by {e}")


def _factor(ctx: Context, e: Any) -> Expr:
    if isinstance(e, prim.Mul):
        return mul(_factor(ctx, e.a), _factor(ctx, e.b))
    value = ctx.value(e)
    if not isinstance(value, Expr):
        raise Unsupported(f"transform_layout by {e}")
    return value


def _size(part: _Part, shape: tuple[Expr, ...]) -> Expr:
    left = ceildiv(shape[part.dim], part.low)
    return left if part.size is None else minimum(part.size, left)


def _cut_axes(block: Block, buffer: str, parts: Sequence[_Part]) -> None:
    """Cut the block's axes where a part of the layout begins."""
    for part in _from_below(parts):
        for region in (*block.reads, *block.writes):
            if region.buffer == buffer:
                for axis, coef in region.dims[part.dim].start.coefs.items():
                    if _straddles(axis, coef, part.low):
                        cut_axis(block, axis, _ratio(part.low, coef))


def _from_below(parts: Sequence[_Part]) -> list[_Part]:
    """The parts in the order of where they begin, which for each divides the next one's."""
    return sorted(parts, key=lambda p: sum(quotient(p.low, q.low) is not None for q in parts))


def _straddles(axis: Axis, coef: Expr, at: Expr) -> bool:
    above = quotient(coef, at) is not None
    below = quotient(at, mul(coef, axis.extent)) is not None
    return not above and not below


def _ratio(low: Expr, coef: Expr) -> Expr:
    exact = quotient(low, coef)
    if exact is None:
        raise Unsupported(f"a layout cuts stride {coef} at {low}")
    return exact


def cut_axis(block: Block, axis: Axis, at: Expr) -> None:
    """Replace an axis by one that counts multiples of ``at`` and one for what is below."""
    high: Coefs = {}
    low: Coefs = {}
    for digit, stride in axis.plain_binding().items():
        exact = quotient(stride, at)
        (low if exact is None else high)[digit] = stride if exact is None else exact
    if hull(low) != at:
        low, straddling = _straddling(block, low, at)
        high |= straddling
    upper = Axis(f"{axis.name}_h", ceildiv(axis.extent, at), axis.reduction, Form(high))
    lower = Axis(f"{axis.name}_l", minimum(at, axis.extent), axis.reduction, Form(low))
    position = block.axes.index(axis)
    block.axes[position : position + 1] = [upper, lower]
    dims = {axis: Form({upper: at, lower: ONE})}
    block.reads = [_rewritten(r, dims) for r in block.reads]
    block.writes = [_rewritten(w, dims) for w in block.writes]


def _straddling(block: Block, low: Coefs, at: Expr) -> tuple[Coefs, Coefs]:
    """Cut the one digit of stride 1 that runs over a multiple of ``at``."""
    if list(low.values()) != [ONE]:
        raise Unsupported(f"block {block.name}: a layout cuts between digits")
    (digit,) = low
    loop = next(o for o in block.ancestors() if digit in o.digits)
    upper, lower = split_digit(loop, digit, [None, at])
    return {lower: ONE}, {upper: ONE}


def _rewritten(region: Region, dims: Mapping[Axis, Form[Axis]]) -> Region:
    return replace(region, dims=tuple(_rewritten_dim(d, dims) for d in region.dims))


def _rewritten_dim(dim: Dim, dims: Mapping[Axis, Form[Axis]]) -> Dim:
    same: dict[Axis, Form[Axis]] = {a: Form({a: ONE}) for a in dim.start.variables()}
    return replace(dim, start=dim.start.substitute({**same, **dims}))


def _in_parts(region: Region, buffer: str, parts: Iterable[_Part]) -> Region:
    if region.buffer != buffer:
        return region
    return replace(region, dims=tuple(_dim(region.dims[p.dim], p) for p in parts))


def _dim(dim: Dim, part: _Part) -> Dim:
    """The part of a dimension whose axes have been cut where the part begins and ends."""
    if dim.start.quotients:
        raise Unsupported("transform_layout of a region with quotients")
    coefs = {}
    for axis, coef in dim.start.coefs.items():
        scaled = quotient(coef, part.low)
        beyond = part.high is not None and quotient(coef, part.high) is not None
        if scaled is not None and not beyond:
            coefs[axis] = scaled
    whole = part.low == ONE
    if whole and part.size is not None and dim.extent not in (ONE, part.size):
        raise Unsupported(f"transform_layout of a region of {dim.extent} elements")
    return Dim(Form(coefs), dim.extent if whole else ONE)


def blockize(ctx: Context, inst: Any) -> None:
    """Make the loops from one on part of the block below, which then works on whole tiles."""
    target = ctx.loop(inst.inputs[0])
    ctx.define(inst.outputs, [_only_block(target, "blockize")])
    swallow(_only_block(target, "blockize"), target)


def _only_block(loop: Loop, what: str) -> Block:
    block, *others = loop.blocks()
    if others:
        raise Unsupported(f"{what} of several blocks")
    return block


def swallow(block: Block, outermost: Loop) -> None:
    """Take the loops from ``outermost`` down to the block into the block."""
    above = block.ancestors()
    inner = {d for o in above[: above.index(outermost) + 1] for d in o.digits}
    scales = {axis: _tile_axis(axis, inner) for axis in block.axes}
    block.reads = [_tiled(r, scales) for r in block.reads]
    block.writes = [_tiled(w, scales) for w in block.writes]
    block.name = f"{block.name}_o"
    parent = outermost.parent
    assert parent is not None
    parent.children[parent.children.index(outermost)] = block
    block.parent = parent


def _tile_axis(axis: Axis, inner: set[Digit]) -> Expr:
    """Let an axis count tiles of the inner digits; their length."""
    length = hull({d: c for d, c in axis.plain_binding().items() if d in inner})
    outer: Coefs = {}
    for digit, stride in axis.plain_binding().items():
        if digit not in inner:
            exact = quotient(stride, length)
            if exact is None:
                raise Unsupported(f"axis {axis.name}: tiles of {length} at a stride of {stride}")
            outer[digit] = exact
    axis.binding, axis.extent = Form(outer), ceildiv(axis.extent, length)
    return length


def _tiled(region: Region, scales: Mapping[Axis, Expr]) -> Region:
    return replace(region, dims=tuple(_tiled_dim(d, scales) for d in region.dims))


def _tiled_dim(dim: Dim, scales: Mapping[Axis, Expr]) -> Dim:
    if any(scales[a] != ONE for q in dim.start.quotients for a in q.form.variables()):
        raise Unsupported("blockize of a region with quotients")
    extent = dim.extent
    for axis, coef in dim.start.coefs.items():
        extent = add(extent, mul(coef, add(scales[axis], const(-1))))
    coefs = {a: mul(c, scales[a]) for a, c in dim.start.coefs.items()}
    return Dim(Form(coefs, dim.start.quotients), extent)


def tensorize(ctx: Context, inst: Any) -> None:
    """Blockize, and replace the block's body, which is not part of a program here."""
    target = ctx.values.get(inst.inputs[0])
    if isinstance(target, Loop):
        swallow(_only_block(target, "tensorize"), target)


def decompose_reduction(ctx: Context, inst: Any) -> None:
    """Leave the block without its initialisation, which costs nothing and gets no block here."""
    block = ctx.block(inst.inputs[0])
    block.name = f"{block.name}_update"


HANDLERS: dict[str, Handler] = {
    "TransformLayout": transform_layout,
    "Blockize": blockize,
    "Tensorize": tensorize,
    "DecomposeReduction": decompose_reduction,
}
