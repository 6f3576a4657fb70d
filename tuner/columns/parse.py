"""Read a TIR function, before any sampled value went into it, into a :class:`Program`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tvm import prim, tirx
from tvm.ir import Var
from tvm.s_tir import SBlockRealize

from tuner.columns.expr import ONE, const
from tuner.columns.forms import Form, Quotient
from tuner.columns.loops import thread_kind
from tuner.columns.program import (
    Axis,
    Block,
    Buffer,
    Digit,
    Dim,
    Loop,
    Program,
    Region,
    Unsupported,
)

_KINDS = {0: "serial", 1: "parallel", 2: "vectorize", 3: "unroll"}  # tvm.tirx.ForKind
_BOUND = 4  # tvm.tirx.ForKind.THREAD_BINDING
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
    digit = Digit(name, const(_int(stmt.extent, name)))
    return Loop(annotations=dict(stmt.annotations), digits=[digit], kind=_kind(stmt))


def _kind(stmt: Any) -> str:
    return thread_kind(stmt.thread_binding.thread_tag) if stmt.kind == _BOUND else _KINDS[stmt.kind]


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
    form = _form(value, digits).form
    reduction = int(var.iter_type) == _REDUCE
    for digit in form.variables():
        digit.reduction |= reduction
    return Axis(name, const(_int(var.dom.extent, name)), reduction, form)


def _region(region: Any, axes: Mapping[Key, Axis]) -> Region:
    name = str(region.source.name)
    dims = tuple(_dim(r, axes, name) for r in region.region)
    return Region(name, dims)


def _dim(bounds: Any, axes: Mapping[Key, Axis], buffer: str) -> Dim:
    extent = const(_int(bounds.extent, f"region of {buffer}"))
    return Dim(_form(bounds.min, axes).form, extent)


@dataclass(frozen=True)
class _Index:
    """``offset + form``."""

    offset: int = 0
    form: Form[Any] = field(default_factory=lambda: Form({}))


_Vars = Mapping[Key, Any]


def _form(e: Any, variables: _Vars) -> _Index:
    if isinstance(e, int):
        return _Index(e)
    rule = _RULES.get(type(e))
    if rule is None:
        raise Unsupported(f"index {e}: {type(e).__name__} is not quasi-affine")
    return rule(e, variables)


def _variable(e: Any, variables: _Vars) -> _Index:
    found = variables.get(e.__chandle__())
    if found is None:
        raise Unsupported(f"index {e}: unknown variable")
    return _Index(0, Form({found: ONE}))


def _plus(a: _Index, b: _Index, sign: int = 1) -> _Index:
    return _Index(a.offset + sign * b.offset, a.form.plus(b.form.times(const(sign))))


def _times(e: Any, variables: _Vars) -> _Index:
    a, b = _form(e.a, variables), _form(e.b, variables)
    for index, other in ((a, b), (b, a)):
        if other.form == Form({}):
            return _Index(index.offset * other.offset, index.form.times(const(other.offset)))
    raise Unsupported(f"index {e}: product of two variables")


def _divided(e: Any, variables: _Vars) -> _Index:
    index, by = _form(e.a, variables), _int(e.b, f"index {e}")
    if index.offset:
        raise Unsupported(f"index {e}: quotient of an index with an offset")
    remainder = isinstance(e, prim.FloorMod)
    return _Index(0, Form({}, (Quotient(index.form, const(by), remainder),)))


_RULES: dict[type, Callable[[Any, _Vars], _Index]] = {
    Var: _variable,
    prim.IntImm: lambda e, v: _Index(int(e.value)),
    prim.Add: lambda e, v: _plus(_form(e.a, v), _form(e.b, v)),
    prim.Sub: lambda e, v: _plus(_form(e.a, v), _form(e.b, v), -1),
    prim.Mul: _times,
    prim.FloorDiv: _divided,
    prim.FloorMod: _divided,
    prim.Cast: lambda e, v: _form(e.value, v),
}
