"""Quotients of indices, resolved row by row: digits are cut where that makes a quotient a sum.

The rule is that of :mod:`tuner.tir.radix` for one program.  Whether a digit can be cut depends on
the extents, so on the row; a digit that may be cut becomes two, and where it is not cut the upper
one has extent 1.  What stays a quotient in some rows is a :class:`Split` with scale 0 in others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tuner.columns.cuts import cuts, down, is_low, top
from tuner.columns.expr import (
    ONE,
    ZERO,
    Expr,
    add,
    both,
    floordiv,
    less,
    mul,
    negated,
    quotient,
    where,
)
from tuner.columns.forms import Form, Quotient
from tuner.columns.program import Coefs, Digit, Unsupported


@dataclass(frozen=True)
class Split:
    """``scale * ((sum coefs * digits) // div % mod)``; ``mod`` 0: no modulus."""

    coefs: Mapping[Digit, Expr]
    div: Expr
    mod: Expr
    scale: Expr


@dataclass(frozen=True)
class Resolved:
    """``sum coefs * digits + sum splits``."""

    coefs: Mapping[Digit, Expr]
    splits: tuple[Split, ...] = ()

    def plus(self, other: Resolved, scale: Expr) -> Resolved:
        """The sum of this and ``scale`` times another one."""
        coefs = dict(self.coefs)
        for d, c in other.coefs.items():
            coefs[d] = add(coefs.get(d, ZERO), mul(scale, c))
        scaled = (replace(s, scale=mul(scale, s.scale)) for s in other.splits)
        return Resolved(coefs, (*self.splits, *(s for s in scaled if s.scale != ZERO)))


@dataclass(frozen=True)
class _Divided:
    """``high`` and ``low`` parts of a sum; ``open`` is 1 where ``low`` may reach the divisor."""

    high: Coefs
    low: Coefs
    open: Expr


@dataclass
class _Cut:
    """A digit in two parts: ``coef * inner.extent`` is ``by`` wherever ``outer`` is not idle."""

    outer: Digit
    inner: Digit
    coef: Expr
    by: Expr


class Radix:
    """The digits of a program and the cuts that its quotients make."""

    def __init__(self) -> None:
        self._cuts: dict[Digit, _Cut] = {}
        self._known: dict[Any, _Divided] = {}

    def leaves(self, digit: Digit) -> list[Digit]:
        """What a digit has been cut into, outermost first."""
        cut = self._cuts.get(digit)
        if cut is None:
            return [digit]
        return [*self.leaves(cut.outer), *self.leaves(cut.inner)]

    def expand(self, coefs: Mapping[Digit, Expr]) -> Coefs:
        """The same sum over leaves."""
        out: Coefs = {}
        for digit, coef in coefs.items():
            for leaf, c in self._expanded(digit, coef):
                out[leaf] = add(out.get(leaf, ZERO), c)
        return out

    def _expanded(self, digit: Digit, coef: Expr) -> Iterator[tuple[Digit, Expr]]:
        cut = self._cuts.get(digit)
        if cut is None:
            yield digit, coef
            return
        times = quotient(coef, cut.coef)
        outer = mul(coef, cut.inner.extent) if times is None else mul(times, cut.by)
        yield from self._expanded(cut.outer, outer)
        yield from self._expanded(cut.inner, coef)

    def final(self, r: Resolved) -> Resolved:
        """The same over the leaves as they are now."""
        splits = (replace(s, coefs=self.expand(s.coefs)) for s in r.splits)
        return Resolved(self.expand(r.coefs), tuple(splits))

    def resolve(self, form: Form[Digit]) -> Resolved:
        """A form without quotients, as far as each row allows."""
        out = Resolved(dict(form.coefs))
        for q in form.quotients:
            out = out.plus(self._quotient(q), q.scale)
        return out

    def _quotient(self, q: Quotient[Digit]) -> Resolved:
        if q.by == ONE:
            return Resolved({}) if q.remainder else self.resolve(q.form)
        if q.form.quotients:
            return self._nested(q)
        return self._part(q.form.coefs, q, ONE)

    def _part(self, coefs: Mapping[Digit, Expr], q: Quotient[Digit], guard: Expr) -> Resolved:
        """The quotient or remainder of a sum in the rows where ``guard`` is 1, else 0."""
        d = self._divide(coefs, q.by, guard)
        if not q.remainder:
            high = {k: mul(guard, c) for k, c in d.high.items()}
            return _with(high, Split(d.low, q.by, ZERO, d.open))
        closed = both(guard, negated(d.open))
        low = {k: mul(closed, c) for k, c in d.low.items()}
        return _with(low, Split(d.low, ONE, q.by, d.open))

    def _nested(self, q: Quotient[Digit]) -> Resolved:
        """``x % a`` or ``x // a`` by ``b``: a sum by ``b`` where it is a sum, else a split."""
        inner = q.form.quotients[0]
        if q.form != Form({}, (inner,)) or inner.form.quotients or inner.scale != ONE:
            raise Unsupported("a quotient of a sum with quotients")
        d = self._divide(inner.form.coefs, inner.by, ONE)
        closed = self._part(d.low if inner.remainder else d.high, q, negated(d.open))
        beside = (
            self._of_remainder(d, inner, q) if inner.remainder else self._of_quotient(d, inner, q)
        )
        return closed.plus(beside, ONE)

    def _of_remainder(self, d: _Divided, inner: Quotient[Digit], q: Quotient[Digit]) -> Resolved:
        """``x % a`` by ``b`` in the rows where ``d`` is open."""
        times = quotient(inner.by, q.by)
        if times is None:
            raise Unsupported(f"index % {inner.by} in units of {q.by}")
        div, mod = (ONE, q.by) if q.remainder else (q.by, times)
        return _with({}, Split(d.low, div, mod, d.open))

    def _of_quotient(self, d: _Divided, inner: Quotient[Digit], q: Quotient[Digit]) -> Resolved:
        """``x // a`` by ``b`` in the rows where ``d`` is open."""
        by = mul(inner.by, q.by)
        if not q.remainder:
            return self._part(inner.form.coefs, replace(q, by=by), d.open)
        terms = self.expand(inner.form.coefs)
        wrapped = {k: mul(is_low(c, by), c) for k, c in terms.items()}
        return _with({}, Split(wrapped, inner.by, q.by, d.open))

    def _divide(self, coefs: Mapping[Digit, Expr], by: Expr, guard: Expr) -> _Divided:
        key = (by, guard, frozenset(coefs.items()))
        if key not in self._known:
            self._known[key] = self._divided(self.expand(coefs), by, guard)
        return self._known[key]

    def _divided(self, terms: Coefs, by: Expr, guard: Expr) -> _Divided:
        mark = {d: is_low(c, by) for d, c in terms.items()}
        below = {d: c for d, c in terms.items() if mark[d] != ZERO}
        high = {d: mul(negated(mark[d]), down(c, by)) for d, c in terms.items()}
        low = {d: mul(mark[d], c) for d, c in below.items()}
        for d, where_cut in cuts(below, mark, by, guard).items():
            if where_cut != ZERO:
                self._cut(d, where_cut, below[d], by)
                cut = self._cuts[d]
                high[cut.outer], high[cut.inner] = ONE, high.pop(d)
                low[cut.inner] = low.pop(d)
        reaches = negated(less(top(low), by))
        return _Divided({d: c for d, c in high.items() if c != ZERO}, low, both(guard, reaches))

    def _cut(self, digit: Digit, where_cut: Expr, coef: Expr, by: Expr) -> None:
        """Cut a digit where ``where_cut`` is 1, so that its inner part just reaches ``by``."""
        inner = where(where_cut, down(by, coef), digit.extent)
        outer = floordiv(digit.extent, inner)
        self._cuts[digit] = _Cut(
            Digit(f"{digit.name}.0", outer, digit.reduction),
            Digit(f"{digit.name}.1", inner, digit.reduction),
            coef,
            by,
        )


def _with(coefs: Coefs, split: Split) -> Resolved:
    return Resolved(coefs, () if split.scale == ZERO else (split,))
