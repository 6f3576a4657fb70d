"""The nodes of expressions: one object for each distinct expression."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, ClassVar
from weakref import WeakValueDictionary


class Expr:
    """``op`` applied to ``args``: expressions, and the constants that ``op`` needs.

    Build expressions with the functions of :mod:`tuner.columns.expr`; they simplify.  There is one
    object for each distinct expression, so that equality is identity; ``order`` is its place in the
    order of making, which sorts factors and terms.
    """

    __slots__ = ("__weakref__", "args", "op", "order", "parts", "range")
    _made: ClassVar[WeakValueDictionary[tuple[Any, ...], Expr]] = WeakValueDictionary()
    _orders: ClassVar[Iterator[int]] = count()

    op: str
    args: tuple[Any, ...]
    order: int
    parts: tuple[Expr, ...] | None  # of a product or a sum: two that it was made of, once known
    range: tuple[int | None, int | None] | None  # what is seen of its values, once asked for

    def __new__(cls, op: str, args: tuple[Any, ...]) -> Expr:
        """The one expression with these parts."""
        key = (op, *args)
        found = cls._made.get(key)
        if found is None:
            found = object.__new__(cls)
            found.op, found.args, found.order = op, args, next(cls._orders)
            found.parts = found.range = None
            cls._made[key] = found
        return found

    def operands(self) -> Iterator[Expr]:
        """The expressions that this one is made of."""
        return (a for a in self.parts or self.args if isinstance(a, Expr))

    def __repr__(self) -> str:
        return str(self.args[0]) if self.op == "const" else f"<{self.op} {self.order}>"


def const(value: int) -> Expr:
    """The same integer for every row."""
    return Expr("const", (int(value),))


ONE, ZERO = const(1), const(0)


def value_of(e: Expr) -> int | None:
    """The value of a constant, else None."""
    return int(e.args[0]) if e.op == "const" else None


def factors_of(e: Expr) -> tuple[int, tuple[Expr, ...]]:
    """``(constant, factors)`` whose product ``e`` is."""
    if e.op == "const":
        return e.args[0], ()
    if e.op == "mul":
        return e.args[0], e.args[1:]
    return 1, (e,)


def opposite(e: Expr) -> Expr:
    """The factors of ``e``, a product times -1, without it."""
    return e.args[1] if len(e.args) == 2 else Expr("mul", (1, *e.args[1:]))
