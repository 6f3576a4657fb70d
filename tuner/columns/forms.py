"""Quasi-affine sums: coefficients times variables, and quotients and remainders of such sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from tuner.columns.expr import ONE, ZERO, Expr, add, mul

K = TypeVar("K")
L = TypeVar("L")


@dataclass(frozen=True)
class Quotient(Generic[K]):
    """``scale * (form // by)``, or ``scale * (form % by)`` where ``remainder``."""

    form: Form[K]
    by: Expr
    remainder: bool
    scale: Expr = ONE


@dataclass(frozen=True)
class Form(Generic[K]):
    """``sum coefs[v] * v + sum quotients``; constant offsets are not kept."""

    coefs: Mapping[K, Expr]
    quotients: tuple[Quotient[K], ...] = ()

    def variables(self) -> Iterator[K]:
        """Every variable, some perhaps more than once."""
        yield from self.coefs
        for q in self.quotients:
            yield from q.form.variables()

    def plus(self, other: Form[K]) -> Form[K]:
        """Sum of two forms."""
        coefs = dict(self.coefs)
        for variable, coef in other.coefs.items():
            coefs[variable] = add(coefs.get(variable, ZERO), coef)
        return Form(coefs, (*self.quotients, *other.quotients))

    def times(self, scale: Expr) -> Form[K]:
        """The form times an expression."""
        quotients = tuple(replace(q, scale=mul(q.scale, scale)) for q in self.quotients)
        return Form({v: mul(c, scale) for v, c in self.coefs.items()}, quotients)

    def substitute(self, values: Mapping[K, Form[L]]) -> Form[L]:
        """The form with each variable replaced by a form of its own."""
        out: Form[L] = Form({})
        for variable, coef in self.coefs.items():
            out = out.plus(values[variable].times(coef))
        for q in self.quotients:
            inner = Quotient(q.form.substitute(values), q.by, q.remainder, q.scale)
            out = out.plus(Form({}, (inner,)))
        return out
