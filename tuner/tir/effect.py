"""What a statement does to the magnitudes of the values that it reads."""

from __future__ import annotations

from typing import Any

from tvm import prim
from tvm.ir import Call, TensorLoad

from tuner.nest import Effect


def effect_of(buffer: Any, value: Any) -> Effect:
    """The effect of storing ``value`` into ``buffer``."""
    for term in summands(buffer, value):
        return "sum" if only_load(uncast(term)) is not None else "total"
    seen = _Seen()
    seen.visit(value)
    if seen.other or (seen.added and len(set(seen.loads)) < len(seen.loads)):
        return "unknown"
    return "add" if seen.added else "select"


def summands(buffer: Any, value: Any) -> list[Any]:
    """What ``value`` adds to the element of ``buffer`` that it reads back; empty: nothing."""
    if not isinstance(value, prim.Add):
        return []
    pairs = ((value.a, value.b), (value.b, value.a))
    return [term for accumulator, term in pairs if _loads(uncast(accumulator), buffer)]


class _Seen:
    """The operations of an expression; a condition chooses, it adds nothing to a value."""

    def __init__(self) -> None:
        self.loads: list[int] = []
        self.added = self.other = False

    def visit(self, expr: Any) -> None:
        if is_load(expr):
            self.loads.append(int(expr.source.__chandle__()))
        elif isinstance(expr, prim.Cast):
            self.visit(expr.value)
        elif isinstance(expr, prim.Add | prim.Max | prim.Min):
            self.added |= isinstance(expr, prim.Add)
            self.visit(expr.a)
            self.visit(expr.b)
        elif isinstance(expr, prim.Select):
            self.visit(expr.true_value)
            self.visit(expr.false_value)
        elif is_call(expr, "if_then_else"):
            self.visit(expr.args[1])
            self.visit(expr.args[2])
        else:
            self.other |= getattr(expr, "value", None) != 0  # a constant other than 0, or a call


def uncast(expr: Any) -> Any:
    """The expression below its casts."""
    while isinstance(expr, prim.Cast):
        expr = expr.value
    return expr


def only_load(expr: Any) -> int | None:
    """The buffer a factor comes from: a load, or a load padded by ``if_then_else``."""
    if is_call(expr, "if_then_else"):
        expr = uncast(expr.args[1])
    return int(expr.source.__chandle__()) if is_load(expr) else None


def is_load(expr: Any) -> bool:
    """Whether the expression is an element of a buffer."""
    return isinstance(expr, TensorLoad)


def is_call(expr: Any, name: str) -> bool:
    """Whether the expression calls the builtin of that name."""
    return isinstance(expr, Call) and str(expr.op.name).rpartition(".")[2] == name


def _loads(expr: Any, buffer: Any) -> bool:
    return is_load(expr) and bool(expr.source.same_as(buffer))
