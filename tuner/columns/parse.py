"""Read a TIR function, before any sampled value went into it, into a :class:`Program`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tvm import prim, tirx
from tvm.ir import Var
from tvm.s_tir import SBlockRealize

from tuner.columns.expr import ONE, ZERO, Expr, add, const, mul, value_of
from tuner.columns.program import (
    Axis,
    Block,
    Buffer,
    Digit,
    Dim,
    Loop,
    Program,
    Quasi,
    Region,
    Unsupported,
)

_KINDS = {0: "serial", 1: "parallel", 2: "vectorize", 3: "unroll"}  # tvm.tirx.ForKind
_REDUCE = 2  # tvm.tirx.IterVar.CommReduce
Key = Any  # a variable's handle: TVM compares variables by identity


@dataclass
class Parsed:
    """A program, and its loops by the handle of their TIR variable."""

    program: Program = field(default_factory=Program)
    loops: dict[Key, Loop] = field(default_factory=dict)


def parse(func: Any) -> Parsed:
    """The program of a ``PrimFunc``.

    Raises
    ------
    Unsupported
        An extent that is no constant, or an index that is not quasi-affine.
    """
    parsed = Parsed()
    root = func.body.block
    for buffer in func.params:
        _declare(parsed.program, buffer, argument=True)
    parsed.program.root.annotations.update(root.annotations)
    _block_buffers(parsed.program, root)
    _statement(parsed, root.body, parsed.program.root)
    return parsed


def _declare(program: Program, buffer: Any, argument: bool = False) -> None:
    shape = tuple(const(_int(s, str(buffer.name))) for s in buffer.shape)
    name = str(buffer.name)
    program.buffers[name] = Buffer(name, str(buffer.scope()), str(buffer.dtype), shape, argument)


def _block_buffers(program: Program, block: Any) -> None:
    for buffer in block.alloc_buffers:
        _declare(program, buffer)


def _int(value: Any, where: str) -> int:
    if isinstance(value, int):
        return value
    if not isinstance(value, prim.IntImm):
        raise Unsupported(f"{where}: {value} is no constant")
    return int(value.value)


def _statement(parsed: Parsed, stmt: Any, parent: Loop) -> None:
    if isinstance(stmt, tirx.SeqStmt):
        for part in stmt.seq:
            _statement(parsed, part, parent)
    elif isinstance(stmt, tirx.For):
        loop = _loop(stmt)
        parsed.loops[stmt.loop_var.__chandle__()] = loop
        parent.insert(len(parent.children), loop)
        _statement(parsed, stmt.body, loop)
    elif isinstance(stmt, SBlockRealize):
        _realize(parsed, stmt, parent)
    else:
        raise Unsupported(f"statement {type(stmt).__name__} outside of a block")


def _loop(stmt: Any) -> Loop:
    name = str(stmt.loop_var.name)
    if stmt.kind not in _KINDS:
        raise Unsupported(f"loop {name}: bound before anything is sampled")
    digit = Digit(name, const(_int(stmt.extent, name)))
    annotations = dict(stmt.annotations)
    return Loop(annotations=annotations, digits=[digit], kind=_KINDS[stmt.kind])


def _realize(parsed: Parsed, stmt: Any, parent: Loop) -> None:
    tir = stmt.block
    _block_buffers(parsed.program, tir)
    digits = {v: loop.digits[0] for v, loop in parsed.loops.items()}
    block = Block(annotations=dict(tir.annotations), name=str(tir.name_hint))
    axes: dict[Key, Axis] = {}
    for var, value in zip(tir.iter_vars, stmt.iter_values, strict=True):
        axis = _axis(var, value, digits)
        axes[var.var.__chandle__()] = axis
        block.axes.append(axis)
    block.reads = [_region(r, axes) for r in tir.reads]
    block.writes = [_region(w, axes) for w in tir.writes]
    parent.insert(len(parent.children), block)


def _axis(var: Any, value: Any, digits: Mapping[Key, Digit]) -> Axis:
    name = str(var.var.name)
    form = _form(value, digits)
    if form.quasi:
        raise Unsupported(f"axis {name}: bound to {value}")
    reduction = int(var.iter_type) == _REDUCE
    for digit in form.coefs:
        digit.reduction |= reduction
    return Axis(name, const(_int(var.dom.extent, name)), reduction, dict(form.coefs))


def _region(region: Any, axes: Mapping[Key, Axis]) -> Region:
    name = str(region.source.name)
    dims = tuple(_dim(r, axes, name) for r in region.region)
    return Region(name, dims)


def _dim(bounds: Any, axes: Mapping[Key, Axis], buffer: str) -> Dim:
    form = _form(bounds.min, axes)
    return Dim(form.coefs, const(_int(bounds.extent, f"region of {buffer}")), form.quasi)


@dataclass(frozen=True)
class _Form:
    """``const + sum coefs * variables + sum quasi``."""

    const: int = 0
    coefs: Mapping[Any, Expr] = field(default_factory=dict)
    quasi: tuple[Quasi, ...] = ()


_Vars = Mapping[Key, Any]


def _form(e: Any, variables: _Vars) -> _Form:
    if isinstance(e, int):
        return _Form(e)
    rule = _RULES.get(type(e))
    if rule is None:
        raise Unsupported(f"index {e}: {type(e).__name__} is not quasi-affine")
    return rule(e, variables)


def _variable(e: Any, variables: _Vars) -> _Form:
    found = variables.get(e.__chandle__())
    if found is None:
        raise Unsupported(f"index {e}: unknown variable")
    return _Form(0, {found: ONE})


def _sum(a: _Form, b: _Form) -> _Form:
    coefs = dict(a.coefs)
    for variable, coef in b.coefs.items():
        coefs[variable] = add(coefs.get(variable, ZERO), coef)
    return _Form(a.const + b.const, coefs, (*a.quasi, *b.quasi))


def _scaled(form: _Form, by: int) -> _Form:
    scale = const(by)
    quasi = tuple(Quasi(q.coefs, q.div, q.mod, mul(q.scale, scale)) for q in form.quasi)
    return _Form(form.const * by, {v: mul(c, scale) for v, c in form.coefs.items()}, quasi)


def _times(e: Any, variables: _Vars) -> _Form:
    a, b = _form(e.a, variables), _form(e.b, variables)
    for form, other in ((a, b), (b, a)):
        if not other.coefs and not other.quasi:
            return _scaled(form, other.const)
    raise Unsupported(f"index {e}: product of two variables")


def _divided(e: Any, variables: _Vars) -> _Form:
    return _split(_form(e.a, variables), _int(e.b, f"index {e}"))[0]


def _remainder(e: Any, variables: _Vars) -> _Form:
    return _split(_form(e.a, variables), _int(e.b, f"index {e}"))[1]


def _split(form: _Form, by: int) -> tuple[_Form, _Form]:
    """``(form // by, form % by)``."""
    if by == 1:
        return form, _Form()
    if form.quasi:
        return _split_quasi(form, by)
    high = {v: const(k // by) for v, c in form.coefs.items() if (k := _known(c)) % by == 0}
    low = {v: c for v, c in form.coefs.items() if v not in high}
    top = sum(_known(c) * (_known(v.extent) - 1) for v, c in low.items())
    if 0 <= form.const % by + top < by and min(map(_known, low.values()), default=0) >= 0:
        return _Form(form.const // by, high), _Form(form.const % by, low)
    if form.const:
        raise Unsupported(f"quotient by {by} of an index with an offset")
    return _Form(0, {}, (Quasi(form.coefs, by, 0),)), _Form(0, {}, (Quasi(form.coefs, 1, by),))


def _known(e: Expr) -> int:
    value = value_of(e)
    if value is None:
        raise Unsupported(f"{e} is no constant")
    return value


def _split_quasi(form: _Form, by: int) -> tuple[_Form, _Form]:
    q = form.quasi[0]
    alone = len(form.quasi) == 1 and not form.const and not form.coefs and q.scale == ONE
    if alone and 0 < q.mod <= by:
        return _Form(), form
    if alone and (q.mod == 0 or q.mod % by == 0):
        high = Quasi(q.coefs, q.div * by, q.mod // by)
        low = Quasi(q.coefs, q.div, by)
        return _Form(0, {}, (high,)), _Form(0, {}, (low,))
    raise Unsupported(f"quotient by {by} of a quasi-affine index")


_RULES: dict[type, Callable[[Any, _Vars], _Form]] = {
    Var: _variable,
    prim.IntImm: lambda e, v: _Form(int(e.value)),
    prim.Add: lambda e, v: _sum(_form(e.a, v), _form(e.b, v)),
    prim.Sub: lambda e, v: _sum(_form(e.a, v), _scaled(_form(e.b, v), -1)),
    prim.Mul: _times,
    prim.FloorDiv: _divided,
    prim.FloorMod: _remainder,
    prim.Cast: lambda e, v: _form(e.value, v),
}
