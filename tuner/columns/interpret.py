"""Interpret the instructions of a sketch over columns, once: the sketch becomes a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.s_tir import Trace

from tuner.columns import caches, layout, loops, placement, select
from tuner.columns.context import Context, Handler
from tuner.columns.expr import column, lookup
from tuner.columns.locations import INLINE, ROOT, Places, at, places
from tuner.columns.parse import Parser
from tuner.columns.program import Block, Loop, Program, Unsupported
from tuner.decisions import Decision

# Every instruction kind that is understood; anything else raises Unsupported.
HANDLERS: dict[str, Handler] = {
    **select.HANDLERS,
    **loops.HANDLERS,
    **caches.HANDLERS,
    **placement.HANDLERS,
    **layout.HANDLERS,
}


def interpret(
    initial: Any,
    instructions: Sequence[Any],
    decisions: Sequence[Decision],
    taken: Sequence[int] = (),
) -> Program:
    """The program of a sketch, its extents being expressions over decision columns.

    What comes before the first sampling instruction is left to TVM.  ``taken``: the locations that
    its sampled compute locations come out at, in order.

    Raises
    ------
    Unsupported
        An instruction that is not understood, or a use of one that is not.
    """
    return _run(initial, instructions, decisions, taken, None).program


def interpret_places(
    initial: Any, instructions: Sequence[Any], decisions: Sequence[Decision], taken: Sequence[int]
) -> Places:
    """The places that the sampled compute location behind those already ``taken`` has."""
    sampled = [d for d in decisions if d.kind == "compute_location"][len(taken)]
    ctx = _run(initial, instructions, decisions, taken, sampled.instruction)
    return places(ctx, ctx.block(instructions[sampled.instruction].inputs[0]))


def _run(
    initial: Any,
    instructions: Sequence[Any],
    decisions: Sequence[Decision],
    taken: Sequence[int],
    stop: int | None,
) -> Context:
    """Interpret up to instruction ``stop``, None: all of them."""
    first = decisions[0].instruction if decisions else len(instructions)
    ctx = _start(initial, instructions[:first])
    sampled = {d.instruction: d for d in decisions}
    locations = iter(taken)
    for i, inst in enumerate(instructions[first:stop], start=first):
        if i not in sampled:
            _apply(ctx, inst)
        elif sampled[i].kind == "compute_location":
            ctx.values[inst.outputs[0]] = at(ctx, ctx.block(inst.inputs[0]), next(locations))
        else:
            ctx.define(inst.outputs, _values(i, sampled[i]))
    return ctx


def _apply(ctx: Context, inst: Any) -> None:
    kind = str(inst.kind.name)
    if kind not in HANDLERS:
        raise Unsupported(f"instruction {kind}")
    location = ctx.values.get(inst.inputs[1]) if kind == "ComputeAt" else None
    if location == INLINE:
        caches.compute_inline(ctx, inst)
    elif location != ROOT:
        HANDLERS[kind](ctx, inst)


def _values(group: int, d: Decision) -> list[Any]:
    if d.kind == "perfect_tile":
        return [column(c, group, d.extent) for c in range(d.start, d.stop)]
    return [lookup(d.candidates, d.start)]


def _start(initial: Any, prefix: Sequence[Any]) -> Context:
    """Replay the prefix with TVM; carry over what its random variables stand for."""
    sch = initial.copy()
    Trace(list(prefix), {}).apply_to_schedule(sch, remove_postproc=False)
    func = sch.mod["main"]
    parser = Parser(func)
    ctx = Context(parser.program)
    for ours, theirs in zip(prefix, sch.trace.insts, strict=True):
        for rv, replayed in zip(ours.outputs, theirs.outputs, strict=True):
            found = _resolved(sch, replayed, parser)
            if found is not None:
                ctx.values[rv] = found
    return ctx


def _resolved(sch: Any, rv: Any, parser: Parser) -> Loop | Block | None:
    try:
        return parser.node(sch.get(rv))
    except (ValueError, IndexError):  # consumed by a later instruction of the prefix
        return None
