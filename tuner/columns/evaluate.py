"""Values of expressions on a decision matrix, for all rows at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.columns.node import Expr

IntColumn = NDArray[np.int64]


def _divisor_or_one(wanted: Any, of: Any) -> Any:
    return np.where(of % wanted == 0, wanted, 1)


# Operations of two operands, on columns and on single integers.
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "ceildiv": lambda a, b: -(-a // b),
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": np.minimum,
    "max": np.maximum,
    "both": np.multiply,
    "less": lambda a, b: np.less(a, b).astype(np.int64),
    "equal": lambda a, b: np.equal(a, b).astype(np.int64),
    "divisor_or_one": _divisor_or_one,
}


class Evaluator:
    """Values of expressions on one decision matrix ``(n, d)``; shared parts are computed once."""

    def __init__(self, matrix: NDArray[np.int64]) -> None:
        self._columns = np.ascontiguousarray(matrix.T)
        self._n = len(matrix)
        self._known: dict[Expr, Any] = {}
        self._full: dict[Expr, IntColumn] = {}
        self._products: dict[tuple[Expr, ...], Any] = {}

    def __call__(self, e: Expr) -> IntColumn:
        """Value of ``e`` for each row, shape ``(n,)``."""
        found = self._full.get(e)
        if found is None:
            value = self._value(e)
            found = value if np.ndim(value) else np.full(self._n, value, dtype=np.int64)
            self._full[e] = found
        return found

    def _value(self, e: Expr) -> Any:
        known = self._known.get(e)
        if known is None:
            known = self._known[e] = self._compute(e)
        return known

    def _compute(self, e: Expr) -> Any:
        if e.op == "const":
            return e.args[0]
        if e.op == "column":
            return self._columns[e.args[0]]
        if e.op == "lookup":
            return np.asarray(e.args[0], dtype=np.int64)[self._columns[e.args[1]]]
        if e.op == "mul":
            product = self._product(e.args[1:])
            return product if e.args[0] == 1 else product * e.args[0]
        if e.op == "add":
            return reduce(np.add, (self._value(t) for t in e.args[1:]), e.args[0])
        if e.op == "where":
            return np.where(*(self._value(a) for a in e.args))
        return BINARY[e.op](*(self._value(a) for a in e.args))

    def _product(self, factors: tuple[Expr, ...]) -> Any:
        """Product of factors; others that begin with the same ones take it up from there."""
        if len(factors) == 1:
            return self._value(factors[0])
        known = self._products.get(factors)
        if known is None:
            known = self._product(factors[:-1]) * self._value(factors[-1])
            self._products[factors] = known
        return known
