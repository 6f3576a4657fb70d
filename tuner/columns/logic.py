"""Typed expressions: truth values, comparisons and floats beside integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tuner.columns.bounds import lower, natural, upper
from tuner.columns.expr import Expr, const, mul, value_of, where

_ORDER = "bif"


@dataclass(frozen=True)
class Typed:
    """An expression and what its values are: bool (``b``), int64 (``i``) or float64 (``f``)."""

    expr: Expr
    kind: str


def number(value: Any, kind: str) -> Typed:
    """A constant."""
    return Typed(const(value) if kind == "i" else Expr("number", (kind, value)), kind)


def constant(x: Typed) -> Any:
    """The value of a constant, else None."""
    return x.expr.args[1] if x.expr.op == "number" else value_of(x.expr)


TRUE, FALSE = number(True, "b"), number(False, "b")


def truth(value: bool) -> Typed:
    """The same truth value in every row."""
    return TRUE if value else FALSE


def called(function: Callable[..., Any], kind: str, *operands: Typed) -> Typed:
    """A function of numpy's on columns."""
    return Typed(Expr("call", (function, *(x.expr for x in operands))), kind)


def cast(x: Typed, kind: str) -> Typed:
    """The expression as another type, as ``astype`` does."""
    if x.kind == kind:
        return x
    value = constant(x)
    if value is not None:
        return number({"b": bool, "i": int, "f": float}[kind](value), kind)
    return called(_CASTS[kind], kind, x)


def _to_int(x: Any) -> Any:
    return x.astype(np.int64)


def _to_float(x: Any) -> Any:
    return x.astype(np.float64)


def _to_bool(x: Any) -> Any:
    return x.astype(bool)


_CASTS = {"b": _to_bool, "i": _to_int, "f": _to_float}


_NEUTRAL: dict[Any, float] = {np.multiply: 1.0, np.add: 0.0}


def floats(ufunc: np.ufunc, *operands: Typed) -> Typed:
    """An operation on float64; the neutral operands of sums and products leave no trace."""
    args = [cast(x, "f") for x in operands]
    neutral = _NEUTRAL.get(ufunc)
    if neutral is not None:
        rest = [x for x in args if constant(x) != neutral]
        if len(rest) < 2:
            return rest[0] if rest else args[0]
        args.sort(key=lambda x: x.expr.order)
    if ufunc is np.divide and constant(args[1]) == 1.0:
        return args[0]
    return called(ufunc, "f", *args)


def negative(x: Typed) -> Typed:
    """Minus the value."""
    return Typed(mul(const(-1), x.expr), "i") if x.kind == "i" else floats(np.negative, x)


def absolute(x: Typed) -> Typed:
    """The magnitude."""
    return x if x.kind == "i" and natural(x.expr) else called(np.absolute, x.kind, x)


def conjunction(a: Typed, b: Typed) -> Typed:
    """Both (bits of integers)."""
    return _junction(np.bitwise_and, a, b, absorbing=False)


def disjunction(a: Typed, b: Typed) -> Typed:
    """Either (bits of integers)."""
    return _junction(np.bitwise_or, a, b, absorbing=True)


def _junction(ufunc: np.ufunc, a: Typed, b: Typed, *, absorbing: bool) -> Typed:
    if a.kind == "i":
        neutral = [x for x, y in ((a, b), (b, a)) if ufunc is np.bitwise_or and constant(y) == 0]
        return neutral[0] if neutral else called(ufunc, "i", a, b)
    for x, y in ((a, b), (b, a)):
        if (value := constant(x)) is not None:
            return x if value == absorbing else y
    return a if a == b else called(ufunc, "b", *sorted((a, b), key=lambda x: x.expr.order))


def inverse(x: Typed) -> Typed:
    """Where it is not true."""
    value = constant(x)
    if value is not None:
        return truth(not value)
    e = x.expr
    if e.op == "call" and e.args[0] is np.logical_not:
        return Typed(e.args[1], "b")
    return called(np.logical_not, "b", x)


COMPARISONS = (
    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal,
)  # fmt: skip
_SWAPPED: dict[Any, Any] = {
    np.less: np.greater, np.greater: np.less, np.less_equal: np.greater_equal,
    np.greater_equal: np.less_equal, np.equal: np.equal, np.not_equal: np.not_equal,
}  # fmt: skip


def comparison(ufunc: np.ufunc) -> Callable[[Typed, Typed], Typed]:
    """The rule of a comparison."""

    def rule(a: Typed, b: Typed) -> Typed:
        kind = max(a.kind, b.kind, key=_ORDER.index)
        a, b = cast(a, kind), cast(b, kind)
        if kind == "f":
            return called(ufunc, "b", a, b)
        return _of_truths(ufunc, a, b) if kind == "b" else _of_integers(ufunc, a, b)

    return rule


def _of_truths(ufunc: np.ufunc, a: Typed, b: Typed) -> Typed:
    for x, y in ((a, b), (b, a)):
        if (value := constant(x)) is not None:
            return y if value == (ufunc is np.equal) else inverse(y)
    return called(ufunc, "b", a, b)


def _of_integers(ufunc: np.ufunc, a: Typed, b: Typed) -> Typed:
    if a == b:
        return truth(bool(ufunc(0, 0)))
    if constant(a) is not None:
        ufunc, a, b = _SWAPPED[ufunc], b, a
    bound = constant(b)
    known = None if bound is None else _seen(ufunc, a.expr, bound)
    return called(ufunc, "b", a, b) if known is None else truth(known)


def _seen(ufunc: np.ufunc, e: Expr, bound: int) -> bool | None:
    """How an integer compares with a constant, if its range says so."""
    low, high = lower(e), upper(e)
    ends = [ufunc(low, bound) if low is not None else None]
    ends.append(ufunc(high, bound) if high is not None else None)
    if ufunc in (np.greater, np.greater_equal):
        return True if ends[0] else False if ends[1] is not None and not ends[1] else None
    if ufunc in (np.less, np.less_equal):
        return True if ends[1] else False if ends[0] is not None and not ends[0] else None
    outside = (low is not None and low > bound) or (high is not None and high < bound)
    return (ufunc is np.not_equal) if outside else None


def choice(condition: Typed, a: Typed, b: Typed) -> Typed:
    """``a`` where the condition is true, else ``b``."""
    kind = max(a.kind, b.kind, key=_ORDER.index)
    a, b = cast(a, kind), cast(b, kind)
    known = constant(condition)
    if known is not None:
        return a if known else b
    if kind != "b":
        return Typed(where(condition.expr, a.expr, b.expr), kind)
    if constant(a) is not None:
        return disjunction(condition, b) if constant(a) else conjunction(inverse(condition), b)
    if constant(b) is not None:
        return disjunction(inverse(condition), a) if constant(b) else conjunction(condition, a)
    return a if a == b else Typed(Expr("where", (condition.expr, a.expr, b.expr)), "b")
