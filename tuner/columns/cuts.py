"""Where a quotient cuts a digit, as 0 or 1 for each row.

The rule of :class:`tuner.tir.radix.Radix` for one program, over columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tuner.columns.expr import (
    ONE,
    ZERO,
    Expr,
    add,
    at_least_one,
    both,
    const,
    constant_factor,
    equal,
    floordiv,
    less,
    maximum,
    modulo,
    mul,
    negated,
    upper,
    value_of,
)
from tuner.columns.program import Coefs, Digit, Unsupported


def is_low(coef: Expr, by: Expr) -> Expr:
    """1 where a coefficient is no multiple of the divisor."""
    rest = modulo(coef, by)
    return ZERO if rest == ZERO else less(ZERO, rest)


def down(a: Expr, by: Expr) -> Expr:
    """``a // by``, with ``by`` at least 1: coefficients are 0 in rows where they do not count."""
    return floordiv(a, at_least_one(by))


def _span(digit: Digit, coef: Expr) -> Expr:
    if (value_of(coef) or 0) < 0:
        raise Unsupported("a quotient of an index that runs backwards")
    return mul(coef, add(digit.extent, const(-1)))


def top(coefs: Mapping[Digit, Expr]) -> Expr:
    """Largest value of a sum."""
    return add(*(_span(d, c) for d, c in coefs.items())) if coefs else ZERO


def cuts(coefs: Coefs, low: Mapping[Digit, Expr], by: Expr, guard: Expr) -> dict[Digit, Expr]:
    """1 where a digit is cut: it spans most, and a multiple of ``by`` falls into it evenly.

    Only rows count where ``guard`` is 1, and of them the digits that are ``low`` (1) there.
    """
    spans = {d: mul(low[d], _span(d, c)) for d, c in coefs.items()}
    whole = add(ZERO, *spans.values())
    largest = _largest(spans.values())
    rest = both(guard, negated(less(whole, by)))
    out: dict[Digit, Expr] = {}
    for d, c in coefs.items():
        most = equal(spans[d], largest)
        fits = less(add(whole, mul(const(-1), spans[d])), c)
        out[d] = both(rest, low[d], most, fits, _even(d, c, by))
        rest = both(rest, negated(most))
    return out


def _largest(spans: Iterable[Expr]) -> Expr:
    out = ZERO
    for span in spans:
        out = maximum(out, span)
    return out


def _even(digit: Digit, coef: Expr, by: Expr) -> Expr:
    """1 where ``by`` lies inside the digit and both its parts come out even."""
    reach = upper(mul(coef, digit.extent))
    bound = value_of(by)
    if bound is not None and bound % constant_factor(coef):
        return ZERO
    if bound is not None and reach is not None and reach <= bound:
        return ZERO
    size = down(by, coef)
    whole = equal(modulo(by, at_least_one(coef)), ZERO)
    even = equal(modulo(digit.extent, at_least_one(size)), ZERO)
    return both(whole, less(ONE, size), less(size, digit.extent), even)
