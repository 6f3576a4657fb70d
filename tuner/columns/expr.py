"""Integer expressions over the columns of a decision matrix, simplified as they are built.

Products are kept in a normal form (a constant times sorted factors), so that equal extents compare
equal and a stride can be divided by an extent that it contains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tuner.columns.bounds import lower, positive, upper
from tuner.columns.evaluate import BINARY
from tuner.columns.node import ONE, ZERO, Expr, const, factors_of, value_of

__all__ = [
    "ONE", "ZERO", "Expr", "add", "at_least_one", "both", "ceildiv", "column", "const",
    "constant_factor", "divisor_or_one", "equal", "floordiv", "less", "lookup", "maximum",
    "minimum", "modulo", "mul", "negated", "quotient", "upper", "value_of", "where",
]  # fmt: skip


def column(index: int, group: int, product: int) -> Expr:
    """A tile factor: the columns of ``group``, all at least 1, multiply to ``product``."""
    return ONE if product == 1 else Expr("column", (index, group, product))


def lookup(table: Sequence[int], index: int) -> Expr:
    """``table[column index]``."""
    return Expr("lookup", (tuple(table), index))


def _order(e: Expr) -> int:
    return e.order


def constant_factor(e: Expr) -> int:
    """The constant that an expression is visibly a multiple of."""
    return factors_of(e)[0] or 1


def _product(scale: int, factors: Iterable[Expr]) -> Expr:
    rest = tuple(sorted(factors, key=_order))
    if scale == 0 or not rest:
        return const(scale)
    return rest[0] if scale == 1 and len(rest) == 1 else Expr("mul", (scale, *rest))


def mul(*items: Expr) -> Expr:
    """Product."""
    scale, factors = 1, list[Expr]()
    for item in items:
        k, parts = factors_of(item)
        scale *= k
        factors.extend(parts)
    return _made_of(items, _product(scale, factors))


def _made_of(items: tuple[Expr, ...], made: Expr) -> Expr:
    """The sum or product, which remembers what it was made of: that is likely computed anyway."""
    if len(items) == 2 and made.parts is None and made not in items:
        made.parts = items
    return made


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
    return _made_of(items, Expr("add", (total, *sorted(rest, key=_order))))


def quotient(a: Expr, b: Expr) -> Expr | None:
    """``a / b`` where ``b`` visibly divides ``a``, else None."""
    (ka, fa), (kb, fb) = factors_of(a), factors_of(b)
    rest = list(fa)
    for f in fb:
        if f not in rest:
            return None
        rest.remove(f)
    return None if kb == 0 or ka % kb else _product(ka // kb, rest)


def _binary(op: str, a: Expr, b: Expr) -> Expr:
    va, vb = value_of(a), value_of(b)
    if va is not None and vb is not None:
        return const(int(BINARY[op](va, vb)))
    return Expr(op, (a, b))


def ceildiv(a: Expr, b: Expr) -> Expr:
    """``a / b`` rounded up."""
    exact = quotient(a, b)
    return _binary("ceildiv", a, b) if exact is None else exact


def floordiv(a: Expr, b: Expr) -> Expr:
    """``a / b`` rounded down."""
    exact = quotient(a, b)
    if exact is not None:
        return exact
    if factors_of(a)[0] < 0:  # what numpy's users write for ceildiv
        return mul(const(-1), ceildiv(mul(const(-1), a), b))
    return _binary("floordiv", a, b)


def modulo(a: Expr, b: Expr) -> Expr:
    """``a`` modulo ``b``, not negative."""
    return ZERO if _divides(b, a) else _binary("mod", a, b)


def _divides(b: Expr, a: Expr) -> bool:
    """Whether ``a`` is visibly a multiple of ``b`` in all rows."""
    for e in (a, b):
        if e.op == "where":
            _, one, other = e.args
            pairs = ((one, b), (other, b)) if e is a else ((a, one), (a, other))
            return all(_divides(y, x) for x, y in pairs)
    return quotient(a, b) is not None


def minimum(a: Expr, b: Expr) -> Expr:
    """The smaller one, row by row."""
    if a == b or _at_most(a, b):
        return a
    return b if _at_most(b, a) else _binary("min", a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    """The larger one, row by row."""
    if a == b or _at_most(b, a):
        return a
    if a.op == "where" and value_of(b) is not None:
        condition, one, other = a.args
        return where(condition, maximum(one, b), maximum(other, b))
    return b if _at_most(a, b) else _binary("max", a, b)


def _at_most(a: Expr, b: Expr) -> bool:
    top, bound = upper(a), lower(b)
    return top is not None and bound is not None and top <= bound


def at_least_one(a: Expr) -> Expr:
    """The expression, raised to 1 where it may be 0."""
    return a if positive(a) else maximum(a, ONE)


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
