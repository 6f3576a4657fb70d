"""TIR index expressions as forms over loops or axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tvm import prim
from tvm.ir import Var

from tuner.columns.expr import ONE, const
from tuner.columns.forms import Form, Quotient
from tuner.columns.program import Unsupported

Variables = Mapping[int, Any]  # by handle: TVM compares variables by identity


def form_of(e: Any, variables: Variables) -> Form[Any]:
    """The form of an index expression, its constant offset left out.

    Raises
    ------
    Unsupported
        The expression is not quasi-affine, or holds a quotient of an index with an offset.
    """
    return _form(e, variables).form


def integer(value: Any, where: str) -> int:
    """A constant of TIR; :class:`Unsupported` names ``where`` it was expected."""
    if isinstance(value, int):
        return value
    if not isinstance(value, prim.IntImm):
        raise Unsupported(f"{where}: {value} is no constant")
    return int(value.value)


@dataclass(frozen=True)
class _Index:
    """``offset + form``."""

    offset: int = 0
    form: Form[Any] = field(default_factory=lambda: Form({}))


def _form(e: Any, variables: Variables) -> _Index:
    if isinstance(e, int):
        return _Index(e)
    rule = _RULES.get(type(e))
    if rule is None:
        raise Unsupported(f"index {e}: {type(e).__name__} is not quasi-affine")
    return rule(e, variables)


def _variable(e: Any, variables: Variables) -> _Index:
    found = variables.get(e.__chandle__())
    if found is None:
        raise Unsupported(f"index {e}: unknown variable")
    return _Index(0, Form({found: ONE}))


def _plus(a: _Index, b: _Index, sign: int = 1) -> _Index:
    return _Index(a.offset + sign * b.offset, a.form.plus(b.form.times(const(sign))))


def _times(e: Any, variables: Variables) -> _Index:
    a, b = _form(e.a, variables), _form(e.b, variables)
    for index, other in ((a, b), (b, a)):
        if other.form == Form({}):
            return _Index(index.offset * other.offset, index.form.times(const(other.offset)))
    raise Unsupported(f"index {e}: product of two variables")


def _divided(e: Any, variables: Variables) -> _Index:
    index, by = _form(e.a, variables), integer(e.b, f"index {e}")
    if index.offset:
        raise Unsupported(f"index {e}: quotient of an index with an offset")
    remainder = isinstance(e, prim.FloorMod)
    return _Index(0, Form({}, (Quotient(index.form, const(by), remainder),)))


_RULES: dict[type, Callable[[Any, Variables], _Index]] = {
    Var: _variable,
    prim.IntImm: lambda e, v: _Index(int(e.value)),
    prim.Add: lambda e, v: _plus(_form(e.a, v), _form(e.b, v)),
    prim.Sub: lambda e, v: _plus(_form(e.a, v), _form(e.b, v), -1),
    prim.Mul: _times,
    prim.FloorDiv: _divided,
    prim.FloorMod: _divided,
    prim.Cast: lambda e, v: _form(e.value, v),
}
