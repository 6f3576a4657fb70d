"""Instructions that sample, find blocks or mark them: none of them moves anything."""

from __future__ import annotations

from typing import Any

from tuner.columns.caches import renamed, stage_name
from tuner.columns.context import Context, Handler
from tuner.columns.program import Block, Node, Unsupported, unused


def get_block(ctx: Context, inst: Any) -> None:
    """A block by name; the root stands for the whole program."""
    name = str(inst.attrs[0])
    if name == "root":
        ctx.values[inst.outputs[0]] = ctx.program.root
    else:
        ctx.define(inst.outputs, [ctx.program.block(name)])


def get_producers(ctx: Context, inst: Any) -> None:
    """Blocks that write what a block reads."""
    read = [r.buffer for r in ctx.block(inst.inputs[0]).reads]
    ctx.define(inst.outputs, _blocks(ctx, [w for b in read for w in ctx.program.writers(b)]))


def get_consumers(ctx: Context, inst: Any) -> None:
    """Blocks that read what a block writes."""
    written = [w.buffer for w in ctx.block(inst.inputs[0]).writes]
    ctx.define(inst.outputs, _blocks(ctx, [r for b in written for r in ctx.program.readers(b)]))


def _blocks(ctx: Context, found: list[Block]) -> list[Block]:
    return [b for b in ctx.program.root.blocks() if b in found]


def annotate(ctx: Context, inst: Any) -> None:
    """Write an annotation to a block, a loop or the whole program (the root block)."""
    _annotations(ctx, inst)[str(inst.attrs[0])] = ctx.value(inst.inputs[1])


def unannotate(ctx: Context, inst: Any) -> None:
    """Remove an annotation."""
    _annotations(ctx, inst).pop(str(inst.attrs[0]), None)


def _annotations(ctx: Context, inst: Any) -> dict[str, Any]:
    target = ctx.values.get(inst.inputs[0])
    if not isinstance(target, Node):
        raise Unsupported("annotation of neither a block nor a loop")
    return target.annotations


def set_scope(ctx: Context, inst: Any) -> None:
    """Move what a block writes to another memory; TVM gives the buffer a new name."""
    index, scope = int(inst.attrs[0]), str(inst.attrs[1])
    program, old = ctx.program, ctx.block(inst.inputs[0]).writes[index].buffer
    buffer = program.buffers.pop(old)
    buffer.name, buffer.scope = unused(program, stage_name(old, scope)), scope
    program.buffers[buffer.name] = buffer
    for block in program.root.blocks():
        block.reads = [renamed(r, old, buffer.name) for r in block.reads]
        block.writes = [renamed(w, old, buffer.name) for w in block.writes]


def storage_align(ctx: Context, inst: Any) -> None:
    """Pad the rows of what a block writes: ``stride % factor == offset`` at ``axis``."""
    index, axis, factor, offset = (int(a) for a in inst.attrs)
    block = ctx.block(inst.inputs[0])
    ctx.program.buffers[block.writes[index].buffer].align = (axis, factor, offset)


HANDLERS: dict[str, Handler] = {
    "GetSBlock": get_block,
    "GetProducers": get_producers,
    "GetConsumers": get_consumers,
    "Annotate": annotate,
    "Unannotate": unannotate,
    "SetScope": set_scope,
    "StorageAlign": storage_align,
}
