"""Instructions on loops: get_loops, split, fuse, reorder, bind, annotate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tuner.columns.context import Context, Handler
from tuner.columns.expr import ONE, Expr, ceildiv, mul
from tuner.columns.forms import Form, Quotient
from tuner.columns.program import Digit, Loop, Node, Unsupported


def get_loops(ctx: Context, inst: Any) -> None:
    """Loops around a block, outermost first."""
    loops = ctx.block(inst.inputs[0]).ancestors()
    ctx.define(inst.outputs, list(reversed(loops)))


def split(ctx: Context, inst: Any) -> None:
    """Cut a loop into nested ones; an open factor covers what the others leave, rounded up."""
    loop = ctx.loop(inst.inputs[0])
    factors = [None if f is None else ctx.value(f) for f in inst.inputs[1:]]
    parts = split_digit(loop, _only_digit(loop), factors)
    ctx.define(inst.outputs, _nest(loop, parts))


def _only_digit(loop: Loop) -> Digit:
    """The digit of a loop; several are read as quotients and remainders of a single one."""
    if len(loop.digits) == 1:
        return loop.digits[0]
    reductions = {d.reduction for d in loop.digits}
    whole = Digit("_".join(d.name for d in loop.digits), extent_of(loop), reductions == {True})
    values, below = {}, ONE
    for digit in reversed(loop.digits):
        index, above = Form({whole: ONE}), mul(below, digit.extent)
        if digit is not loop.digits[0]:
            index = Form({}, (Quotient(index, above, True),))
        values[digit] = Form({}, (Quotient(index, below, False),))
        below = above
    _substitute(loop, values)
    loop.digits = [whole]
    return whole


def extent_of(loop: Loop) -> Expr:
    """Iterations of a loop."""
    return mul(*(d.extent for d in loop.digits))


def split_digit(loop: Loop, digit: Digit, factors: Sequence[Expr | None]) -> list[Digit]:
    """Replace a digit of a loop, and of the blocks below, by several."""
    given = mul(*(f for f in factors if f is not None))
    extents = [ceildiv(digit.extent, given) if f is None else f for f in factors]
    parts = [Digit(f"{digit.name}_{i}", e, digit.reduction) for i, e in enumerate(extents)]
    position = loop.digits.index(digit)
    loop.digits[position : position + 1] = parts
    strides, below = {}, ONE
    for part in reversed(parts):
        strides[part] = below
        below = mul(below, part.extent)
    _substitute(loop, {digit: Form(strides)})
    return parts


def _substitute(loop: Loop, values: dict[Digit, Form[Digit]]) -> None:
    """Replace digits in the axes of all blocks below."""
    for block in loop.blocks():
        for axis in block.axes:
            present = dict.fromkeys(axis.binding.variables())
            same: dict[Digit, Form[Digit]] = {d: Form({d: ONE}) for d in present}
            if values.keys() & present.keys():
                axis.binding = axis.binding.substitute({**same, **values})


def _nest(loop: Loop, parts: list[Digit]) -> list[Loop]:
    """Turn ``loop`` into nested loops, one for each part; the outermost one is ``loop`` itself."""
    loop.digits = parts[:1]
    loops, children = [loop], loop.children
    for part in parts[1:]:
        inner = Loop(digits=[part])
        loops[-1].children = []
        loops[-1].insert(0, inner)
        loops.append(inner)
    _adopt(loops[-1], children)
    return loops


def _adopt(loop: Loop, children: list[Node]) -> None:
    loop.children = children
    for child in children:
        child.parent = loop


def fuse(ctx: Context, inst: Any) -> None:
    """Make nested loops one loop with all their digits."""
    loops = [ctx.loop(rv) for rv in inst.inputs]
    outer, inner = loops[0], loops[-1]
    for above, below in pairwise(loops):
        if above.children != [below]:
            raise Unsupported(f"fuse: {below.digits[0].name} is not alone in its parent")
    outer.digits = [d for loop in loops for d in loop.digits]
    if inner is not outer:
        _adopt(outer, inner.children)
    ctx.define(inst.outputs, [outer])


def reorder(ctx: Context, inst: Any) -> None:
    """Permute loops of one chain among the places that they hold."""
    wanted = [ctx.loop(rv) for rv in inst.inputs]
    innermost = max(wanted, key=lambda loop: len(loop.ancestors()))
    chain = [innermost, *innermost.ancestors()][::-1]
    first = next(i for i, loop in enumerate(chain) if loop in wanted)
    chain = chain[first:]
    if any(len(loop.children) != 1 for loop in chain[:-1]):
        raise Unsupported("reorder of loops that are not perfectly nested")
    order = iter(wanted)
    _chain(chain, [next(order) if loop in wanted else loop for loop in chain])


def _chain(old: list[Loop], new: list[Loop]) -> None:
    parent, body = old[0].parent, old[-1].children
    assert parent is not None
    parent.children[parent.children.index(old[0])] = new[0]
    new[0].parent = parent
    for above, below in pairwise(new):
        _adopt(above, [below])
    _adopt(new[-1], body)


def bind(ctx: Context, inst: Any) -> None:
    """Bind a loop to a thread axis."""
    ctx.loop(inst.inputs[0]).kind = thread_kind(inst.attrs[0])


def thread_kind(axis: Any) -> str:
    """A thread axis as a :data:`tuner.nest.Kind`."""
    return "vthread" if str(axis).startswith("vthread") else str(axis)


def _kind_setter(kind: str) -> Handler:
    def handler(ctx: Context, inst: Any) -> None:
        ctx.loop(inst.inputs[0]).kind = kind

    return handler


HANDLERS: dict[str, Handler] = {
    "GetLoops": get_loops,
    "Split": split,
    "Fuse": fuse,
    "Reorder": reorder,
    "Bind": bind,
    "Vectorize": _kind_setter("vectorize"),
    "Unroll": _kind_setter("unroll"),
    "Parallel": _kind_setter("parallel"),
}
