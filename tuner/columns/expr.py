"""Integer expressions over the columns of a decision matrix, evaluated for all rows at once.

Products are kept in a normal form (a constant times sorted factors), so that equal extents compare
equal and a stride can be divided by an extent that it contains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import count
from math import prod
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

IntColumn = NDArray[np.int64]


class Expr:
    """``op`` applied to ``args``: expressions, and the constants that ``op`` needs.

    Build expressions with the functions of this module; they simplify.  There is one object for
    each distinct expression, so that equality is identity; ``order`` is its place in the order of
    making, which sorts factors and terms.
    """

    __slots__ = ("__weakref__", "args", "op", "order")
    _made: ClassVar[WeakValueDictionary[tuple[Any, ...], Expr]] = WeakValueDictionary()
    _orders: ClassVar[Iterator[int]] = count()

    op: str
    args: tuple[Any, ...]
    order: int

    def __new__(cls, op: str, args: tuple[Any, ...]) -> Expr:
        """The one expression with these parts."""
        key = (op, *args)
        found = cls._made.get(key)
        if found is None:
            found = object.__new__(cls)
            found.op, found.args, found.order = op, args, next(cls._orders)
            cls._made[key] = found
        return found

    def __repr__(self) -> str:
        return str(self.args[0]) if self.op == "const" else f"<{self.op} {self.order}>"


def const(value: int) -> Expr:
    """The same integer for every row."""
    return Expr("const", (int(value),))


ONE, ZERO = const(1), const(0)


def column(index: int, group: int, product: int) -> Expr:
    """A tile factor: the columns of ``group``, all at least 1, multiply to ``product``."""
    return ONE if product == 1 else Expr("column", (index, group, product))


def lookup(table: Sequence[int], index: int) -> Expr:
    """``table[column index]``."""
    return Expr("lookup", (tuple(table), index))


def _order(e: Expr) -> int:
    return e.order


def value_of(e: Expr) -> int | None:
    """The value of a constant, else None."""
    return int(e.args[0]) if e.op == "const" else None


def _factors(e: Expr) -> tuple[int, tuple[Expr, ...]]:
    """``(constant, factors)`` whose product ``e`` is."""
    if e.op == "const":
        return e.args[0], ()
    if e.op == "mul":
        return e.args[0], e.args[1:]
    return 1, (e,)


def constant_factor(e: Expr) -> int:
    """The constant that an expression is visibly a multiple of."""
    return _factors(e)[0] or 1


def _product(scale: int, factors: Iterable[Expr]) -> Expr:
    rest = tuple(sorted(factors, key=_order))
    if scale == 0 or not rest:
        return const(scale)
    return rest[0] if scale == 1 and len(rest) == 1 else Expr("mul", (scale, *rest))


def mul(*items: Expr) -> Expr:
    """Product."""
    scale, factors = 1, list[Expr]()
    for item in items:
        k, parts = _factors(item)
        scale *= k
        factors.extend(parts)
    return _product(scale, factors)


def add(*items: Expr) -> Expr:
    """Sum."""
    total, rest = 0, list[Expr]()
    for item in items:
        if item.op == "add":
            total += item.args[0]
            rest.extend(item.args[1:])
        elif item.op == "const":
            total += item.args[0]
        else:
            rest.append(item)
    if not rest:
        return const(total)
    if total == 0 and len(rest) == 1:
        return rest[0]
    return Expr("add", (total, *sorted(rest, key=_order)))


def quotient(a: Expr, b: Expr) -> Expr | None:
    """``a / b`` where ``b`` visibly divides ``a``, else None."""
    (ka, fa), (kb, fb) = _factors(a), _factors(b)
    rest = list(fa)
    for f in fb:
        if f not in rest:
            return None
        rest.remove(f)
    return None if kb == 0 or ka % kb else _product(ka // kb, rest)


def _binary(op: str, a: Expr, b: Expr) -> Expr:
    va, vb = value_of(a), value_of(b)
    if va is not None and vb is not None:
        return const(int(_BINARY[op](va, vb)))
    return Expr(op, (a, b))


def ceildiv(a: Expr, b: Expr) -> Expr:
    """``a / b`` rounded up."""
    exact = quotient(a, b)
    return _binary("ceildiv", a, b) if exact is None else exact


def floordiv(a: Expr, b: Expr) -> Expr:
    """``a / b`` rounded down."""
    exact = quotient(a, b)
    return _binary("floordiv", a, b) if exact is None else exact


def modulo(a: Expr, b: Expr) -> Expr:
    """``a`` modulo ``b``, not negative."""
    return ZERO if quotient(a, b) is not None else _binary("mod", a, b)


def minimum(a: Expr, b: Expr) -> Expr:
    """The smaller one, row by row."""
    top, bound = upper(a), value_of(b)
    if a == b or (top is not None and bound is not None and top <= bound):
        return a
    return _binary("min", a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    """The larger one, row by row."""
    return a if a == b else _binary("max", a, b)


def at_least_one(a: Expr) -> Expr:
    """The expression, raised to 1 where it may be 0."""
    return a if _positive(a) else maximum(a, ONE)


def _positive(e: Expr) -> bool:
    """Whether an expression is visibly positive; tile factors and extents are."""
    if e.op == "const":
        return int(e.args[0]) > 0
    if e.op == "mul":
        return int(e.args[0]) > 0 and all(map(_positive, e.args[1:]))
    if e.op in ("ceildiv", "min"):
        return all(map(_positive, e.args))
    if e.op == "where":
        return all(map(_positive, e.args[1:]))
    return e.op == "column" or (e.op == "max" and any(map(_positive, e.args)))


def less(a: Expr, b: Expr) -> Expr:
    """1 where ``a < b``, else 0."""
    top, bound = upper(a), value_of(b)
    return ONE if top is not None and bound is not None and top < bound else _binary("less", a, b)


def equal(a: Expr, b: Expr) -> Expr:
    """1 where both are the same, else 0."""
    return ONE if a == b else _binary("equal", a, b)


def both(*conditions: Expr) -> Expr:
    """1 where all conditions are 1, else 0; unlike a product it shares its first part."""
    out = ONE
    for c in conditions:
        if ZERO in (out, c):
            return ZERO
        out = c if out == ONE else out if c in (ONE, out) else Expr("both", (out, c))
    return out


def negated(a: Expr) -> Expr:
    """1 where ``a`` is 0 and 0 where it is 1."""
    return add(ONE, mul(const(-1), a))


def where(condition: Expr, a: Expr, b: Expr) -> Expr:
    """``a`` where the condition is 1, ``b`` where it is 0."""
    known = value_of(condition)
    if known is not None:
        return a if known else b
    return a if a == b else Expr("where", (condition, a, b))


def divisor_or_one(wanted: Expr, of: Expr) -> Expr:
    """``wanted`` where it divides ``of``, else 1."""
    return _binary("divisor_or_one", wanted, of)


def _divisor_or_one(wanted: Any, of: Any) -> Any:
    return np.where(of % wanted == 0, wanted, 1)


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
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


def upper(e: Expr) -> int | None:
    """A bound that no row exceeds, or None if none is seen.

    Sampled values are at least 0 (tile factors at least 1), and so is every coefficient.
    """
    if e.op == "const":
        return int(e.args[0])
    if e.op == "lookup":
        return int(max(e.args[0]))
    if e.op in ("column", "mul"):
        return _upper_product(e)
    if e.op == "add":
        parts = [upper(a) for a in e.args[1:]]
        return None if None in parts else int(e.args[0]) + sum(p for p in parts if p is not None)
    if e.op in ("less", "equal", "both"):
        return 1
    if e.op in ("min", "max"):
        known = [u for a in e.args if (u := upper(a)) is not None]
        return _OF_KNOWN[e.op](known) if len(known) >= (1 if e.op == "min" else 2) else None
    return upper(e.args[0]) if e.op in ("ceildiv", "floordiv", "divisor_or_one") else None


_OF_KNOWN: dict[str, Callable[[list[int]], int]] = {"min": min, "max": max}


def _upper_product(e: Expr) -> int | None:
    """The factors of one tile multiply to its extent at most, each of them used once."""
    scale, factors = _factors(e)
    groups: dict[Any, int] = {}
    used: Counter[int] = Counter()
    for f in factors:
        if f.op != "column":
            bound = upper(f)
            if bound is None:
                return None
            scale *= bound
            continue
        index, group, product = f.args
        used[index] += 1
        groups[group, used[index]] = product
    return scale * prod(groups.values()) if scale >= 0 else None


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
        return _BINARY[e.op](*(self._value(a) for a in e.args))

    def _product(self, factors: tuple[Expr, ...]) -> Any:
        """Product of factors; others that begin with the same ones take it up from there."""
        if len(factors) == 1:
            return self._value(factors[0])
        known = self._products.get(factors)
        if known is None:
            known = self._product(factors[:-1]) * self._value(factors[-1])
            self._products[factors] = known
        return known
