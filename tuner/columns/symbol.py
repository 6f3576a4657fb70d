"""A column that stands for an expression: numpy's functions on it make further expressions.

The summary of a nest runs once over such columns, and what it would compute is known: constants are
folded, what is computed twice is computed once, and no value outlives its last use.  The functions
that a plan then calls are numpy's own on the same dtypes, so that the numbers are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tuner.columns import logic
from tuner.columns.expr import add, const, floordiv, maximum, minimum, modulo, mul
from tuner.columns.logic import Typed
from tuner.columns.node import Expr

Operation = Callable[..., Any]
_OF_DTYPE = {np.dtype(bool): "b", np.dtype(np.int64): "i", np.dtype(np.float64): "f"}
_DTYPES = {kind: dtype for dtype, kind in _OF_DTYPE.items()}


class Symbol(NDArrayOperatorsMixin):
    """A column of bools (``b``), int64 (``i``) or float64 (``f``) that depends on decisions.

    Columns that do not are arrays of one element.  ``np.any`` says whether a column may be true in
    some row, ``np.all`` whether it is seen to be in all: what is built on them has to give the same
    numbers either way.
    """

    __slots__ = ("expr", "kind")

    def __init__(self, expr: Expr, kind: str = "i") -> None:
        self.expr, self.kind = expr, kind

    def __bool__(self) -> bool:
        raise TypeError("control flow that depends on the candidates")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("a symbol has no numbers")

    def astype(self, dtype: Any) -> Any:
        """The column as another type."""
        return column(logic.cast(_typed(self), _OF_DTYPE[np.dtype(dtype)]))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        kwargs.pop("out", None)  # of an augmented assignment, which takes what is returned
        if method != "__call__" or kwargs or ufunc not in _RULES:
            raise TypeError(f"no rule for numpy.{ufunc.__name__}.{method}")
        return _RULES[ufunc](*map(_typed, inputs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in _FUNCTIONS:
            raise TypeError(f"no rule for numpy.{function.__name__}")
        return _FUNCTIONS[function](*args, **kwargs)

    def applied(self, function: Operation, columns: tuple[Any, ...]) -> Any:
        """A function of whole columns, row by row, that is no function of numpy's; int64."""
        exprs = (_typed(c).expr for c in columns)
        return Symbol(Expr("call", (function, *exprs)), "i")


def column(found: Typed) -> Any:
    """A symbol, or an array of one element where the expression is a constant."""
    value = logic.constant(found)
    if value is None:
        return Symbol(found.expr, found.kind)
    return np.array([value], dtype=_DTYPES[found.kind])


def integer(expr: Expr) -> Any:
    """The column of an integer expression."""
    return column(Typed(expr, "i"))


def _typed(value: Any) -> Typed:
    if isinstance(value, Symbol):
        return Typed(value.expr, value.kind)
    array = np.asarray(value)
    return logic.number(array.reshape(()).item(), _OF_DTYPE[array.dtype])


def _rule(function: Callable[..., Typed]) -> Operation:
    return lambda *operands: column(function(*operands))


def _arithmetic(ufunc: np.ufunc, integers: Callable[[Expr, Expr], Expr]) -> Operation:
    """The rule of an operation that has a simplifying form for integers."""

    def rule(a: Typed, b: Typed) -> Typed:
        if "f" in (a.kind, b.kind):
            return logic.floats(ufunc, a, b)
        return Typed(integers(logic.cast(a, "i").expr, logic.cast(b, "i").expr), "i")

    return _rule(rule)


def _subtract(a: Expr, b: Expr) -> Expr:
    return add(a, mul(const(-1), b))


def _frexp(x: Typed) -> tuple[Any, Any]:
    mantissa, exponent = (Expr("call", (f, x.expr)) for f in (_mantissa, _exponent))
    return Symbol(mantissa, "f"), Symbol(exponent, "i")


def _mantissa(x: Any) -> Any:
    return np.frexp(x)[0]


def _exponent(x: Any) -> Any:
    return np.frexp(x)[1].astype(np.int64)


_RULES: dict[np.ufunc, Operation] = {
    np.add: _arithmetic(np.add, add),
    np.subtract: _arithmetic(np.subtract, _subtract),
    np.multiply: _arithmetic(np.multiply, mul),
    np.floor_divide: _arithmetic(np.floor_divide, floordiv),
    np.remainder: _arithmetic(np.remainder, modulo),
    np.minimum: _arithmetic(np.minimum, minimum),
    np.maximum: _arithmetic(np.maximum, maximum),
    np.divide: _rule(lambda a, b: logic.floats(np.divide, a, b)),
    np.ceil: _rule(lambda a: logic.floats(np.ceil, a)),
    np.negative: _rule(logic.negative),
    np.absolute: _rule(logic.absolute),
    np.gcd: _rule(lambda a, b: logic.called(np.gcd, "i", a, b)),
    np.bitwise_and: _rule(logic.conjunction),
    np.logical_and: _rule(logic.conjunction),
    np.bitwise_or: _rule(logic.disjunction),
    np.logical_or: _rule(logic.disjunction),
    np.invert: _rule(logic.inverse),
    np.logical_not: _rule(logic.inverse),
    **{ufunc: _rule(logic.comparison(ufunc)) for ufunc in logic.COMPARISONS},
    np.frexp: _frexp,
}


def _where(condition: Any, a: Any, b: Any) -> Any:
    return column(logic.choice(_typed(condition), _typed(a), _typed(b)))


_FUNCTIONS: dict[Any, Operation] = {
    np.where: _where,
    np.any: lambda column: True,
    np.all: lambda column: False,
}
