"""Instructions that add or fold away copies: cache_read, cache_write and inlining."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tuner.columns.context import Context, Handler
from tuner.columns.expr import ONE, Expr, add, const, mul
from tuner.columns.forms import Form, Quotient
from tuner.columns.program import (
    Axis,
    Block,
    Buffer,
    Digit,
    Dim,
    Loop,
    Node,
    Program,
    Region,
    Unsupported,
    remove,
    unused,
)


def cache_read(ctx: Context, inst: Any) -> None:
    """Stage what a block reads in another memory; the given consumers (or all) read the stage."""
    index, scope = int(inst.attrs[0]), str(inst.attrs[1])
    source = ctx.block(inst.inputs[0]).reads[index].buffer
    chosen = [ctx.block(rv) for rv in inst.inputs[1]] if len(inst.inputs) > 1 else []
    consumers = chosen or ctx.program.readers(source)
    stage = _staged(ctx.program, source, scope)
    copy = _copy(ctx.program, source, stage, stage_name(source, scope))
    _place(ctx.program, copy, before=consumers[0])
    for consumer in consumers:
        consumer.reads = [renamed(r, source, stage) for r in consumer.reads]
    ctx.define(inst.outputs, [copy])


def cache_write(ctx: Context, inst: Any) -> None:
    """Let a block write into another memory and copy from there."""
    index, scope = int(inst.attrs[0]), str(inst.attrs[1])
    block = ctx.block(inst.inputs[0])
    target = block.writes[index].buffer
    stage = _staged(ctx.program, target, scope)
    block.writes = [renamed(w, target, stage) for w in block.writes]
    block.reads = [renamed(r, target, stage) for r in block.reads]
    copy = _copy(ctx.program, stage, target, stage_name(target, scope))
    _place(ctx.program, copy, after=block)
    ctx.define(inst.outputs, [copy])


def stage_name(buffer: str, scope: str) -> str:
    """TVM's name of a copy of a buffer, and of the block that makes it, in a scope."""
    return f"{buffer}_{scope}"


def renamed(region: Region, old: str, new: str) -> Region:
    """The region in another buffer of the same shape."""
    return replace(region, buffer=new) if region.buffer == old else region


def _staged(program: Program, source: str, scope: str) -> str:
    old = program.buffers[source]
    name = unused(program, stage_name(source, scope))
    program.buffers[name] = Buffer(name, scope, old.dtype, old.shape)
    return name


def _copy(program: Program, source: str, target: str, name: str) -> Block:
    """A block that copies a whole buffer, a loop for each dimension."""
    block = Block(name=name)
    for i, extent in enumerate(program.buffers[source].shape):
        digit = Digit(f"ax{i}", extent)
        block.axes.append(Axis(f"v{i}", extent, False, Form({digit: ONE})))
    dims = tuple(Dim(Form({axis: ONE})) for axis in block.axes)
    block.reads, block.writes = [Region(source, dims)], [Region(target, dims)]
    return block


def _place(
    program: Program, block: Block, before: Block | None = None, after: Block | None = None
) -> None:
    """Put a copy block with loops of its own at the top level, beside another block's nest."""
    anchor = before or after
    assert anchor is not None
    nest: Node = anchor.ancestors()[-1] if anchor.ancestors() else anchor
    index = program.root.children.index(nest) + (after is not None)
    parent = program.root
    for axis in block.axes:
        loop = Loop(digits=list(axis.binding.coefs))
        parent.insert(index, loop)
        parent, index = loop, 0
    parent.insert(index, block)


def compute_inline(ctx: Context, inst: Any) -> None:
    """Compute what a block writes where it is read."""
    block = ctx.block(inst.inputs[0])
    written = block.writes[0].buffer
    for consumer in ctx.program.readers(written):
        consumer.reads = _inlined(consumer.reads, block)
    _drop(ctx.program, block, written)


def _inlined(reads: list[Region], block: Block) -> list[Region]:
    out: list[Region] = []
    for region in reads:
        if region.buffer == block.writes[0].buffer:
            axes = axes_of(block, block.writes[0], region.dims)
            out.extend(substituted(r, axes) for r in block.reads)
        else:
            out.append(region)
    return unique(out)


def reverse_compute_inline(ctx: Context, inst: Any) -> None:
    """Fold a block that reads one producer into that producer."""
    block = ctx.block(inst.inputs[0])
    producer, region = _only_producer(ctx.program, block)
    written = producer.writes[0]
    axes = axes_of(block, region, written.dims)
    others = [substituted(r, axes) for r in block.reads if r is not region]
    producer.reads = unique([*producer.reads, *others])
    producer.writes = [substituted(block.writes[0], axes)]
    _drop(ctx.program, block, written.buffer)


def _only_producer(program: Program, block: Block) -> tuple[Block, Region]:
    found = [(w, r) for r in block.reads for w in program.writers(r.buffer)]
    if len(found) != 1:
        raise Unsupported(f"block {block.name}: {len(found)} producers, expected one")
    return found[0]


def axes_of(block: Block, region: Region, at: Sequence[Dim]) -> dict[Axis, Dim]:
    """The axes of a block for which ``region`` lies at ``at``.

    A dimension that is a mixed-radix number of several axes gives each by quotient and remainder.
    """
    out = {axis: Dim(Form({})) for axis in block.axes if axis.extent == ONE}
    for dim, where in zip(region.dims, at, strict=True):
        if dim.start.quotients or dim.extent != ONE:
            raise Unsupported(f"block {block.name}: {region.buffer} is accessed by quotients")
        out.update(_digits(block, dim.start.coefs, where))
    if len(out) != len(block.axes):
        raise Unsupported(f"block {block.name}: {region.buffer} does not name every axis")
    return out


def _digits(block: Block, coefs: Mapping[Axis, Expr], where: Dim) -> dict[Axis, Dim]:
    out: dict[Axis, Dim] = {}
    below = ONE
    moving = [axis for axis in coefs if axis.extent != ONE]
    while len(out) < len(moving):
        axis = next((a for a in moving if coefs[a] == below), None)
        if axis is None:
            raise Unsupported(f"block {block.name}: an index is no mixed-radix number of its axes")
        above = mul(below, axis.extent)
        out[axis] = _digit(where, below, above if len(out) < len(moving) - 1 else None)
        below = above
    return out


def _digit(dim: Dim, below: Expr, above: Expr | None) -> Dim:
    """``dim % above // below``."""
    start = dim.start
    if above is not None:
        start = Form({}, (Quotient(start, above, True),))
    if below != ONE:
        start = Form({}, (Quotient(start, below, False),))
    if start is not dim.start and dim.extent != ONE:
        raise Unsupported("a quotient of a region longer than 1")
    return replace(dim, start=start)


def substituted(region: Region, dims: Mapping[Axis, Dim]) -> Region:
    """The region with each axis replaced by a dimension of another region."""
    return replace(region, dims=tuple(_substituted(d, dims) for d in region.dims))


def _substituted(dim: Dim, dims: Mapping[Axis, Dim]) -> Dim:
    extent = dim.extent
    for axis, coef in dim.start.coefs.items():
        extent = add(extent, mul(coef, add(dims[axis].extent, const(-1))))
    for q in dim.start.quotients:
        if any(dims[axis].extent != ONE for axis in q.form.variables()):
            raise Unsupported("a quotient of a region longer than 1")
    return Dim(dim.start.substitute({axis: d.start for axis, d in dims.items()}), extent)


def unique(regions: list[Region]) -> list[Region]:
    """Each buffer once; TVM would take the union, which equals the first where all are alike."""
    return list({r.buffer: r for r in reversed(regions)}.values())[::-1]


def _drop(program: Program, block: Block, buffer: str) -> None:
    remove(block)
    if not program.buffers[buffer].argument:
        del program.buffers[buffer]


HANDLERS: dict[str, Handler] = {
    "CacheRead": cache_read,
    "CacheWrite": cache_write,
    "ComputeInline": compute_inline,
    "ReverseComputeInline": reverse_compute_inline,
}
