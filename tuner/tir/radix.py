"""Sums over loop digits, loops being cut into digits on demand.

``fused // 4 * 32 + j`` over loops ``fused`` (extent 512) and ``j`` becomes
``{fused.0: 32, j: 1}`` with ``fused`` cut into digits of extent 128 and 4.  What cannot be written
that way stays a quasi-affine :class:`Quasi` term.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


class Unsupported(ValueError):
    """A program that the analysis cannot read; the message names the expression or the block."""


Terms = dict[str, int]


@dataclass(frozen=True)
class Quasi:
    """``scale * (sum terms // div % mod)``; ``mod`` 0: no modulus."""

    terms: Mapping[str, int]
    div: int
    mod: int
    scale: int

    def scaled(self, factor: int) -> Quasi:
        """The same term times a constant."""
        return Quasi(self.terms, self.div, self.mod, self.scale * factor)


@dataclass(frozen=True)
class Form:
    """``const + sum terms[d] * d + sum quasi``."""

    const: int = 0
    terms: Mapping[str, int] = field(default_factory=dict)
    quasi: tuple[Quasi, ...] = ()

    def plus(self, other: Form) -> Form:
        """Sum of two forms."""
        terms = dict(self.terms)
        for d, c in other.terms.items():
            terms[d] = terms.get(d, 0) + c
        return Form(self.const + other.const, terms, (*self.quasi, *other.quasi))

    def times(self, factor: int) -> Form:
        """The form times a constant."""
        terms = {d: c * factor for d, c in self.terms.items()}
        return Form(self.const * factor, terms, tuple(q.scaled(factor) for q in self.quasi))


@dataclass(frozen=True)
class Joined:
    """Loops that together are one index: ``sum ratio * part`` is the digit ``name``."""

    name: str
    parts: tuple[tuple[str, int], ...]


class Radix:
    """The digits of a program: extents, cuts, and loops that were joined again."""

    def __init__(self) -> None:
        self._extent: dict[str, int] = {}
        self._cut: dict[str, tuple[str, str]] = {}
        self._joined: dict[str, Joined] = {}

    def add(self, name: str, extent: int) -> None:
        """Declare a digit."""
        self._extent[name] = extent

    def join(self, joined: Joined, extent: int) -> None:
        """Declare that loops are the split of one index of the given extent."""
        self.add(joined.name, extent)
        for part, _ in joined.parts:
            self._joined[part] = joined

    def extent(self, name: str) -> int:
        """Extent of a digit."""
        return self._extent[name]

    def leaves(self, name: str) -> list[str]:
        """The digits that a digit has been cut into, outermost first."""
        if name not in self._cut:
            return [name]
        high, low = self._cut[name]
        return [*self.leaves(high), *self.leaves(low)]

    def cut(self, name: str, low: int) -> None:
        """Cut a digit into one of extent ``low`` and the rest above it."""
        high_name, low_name = f"{name}.0", f"{name}.1"
        self.add(high_name, self._extent[name] // low)
        self.add(low_name, low)
        self._cut[name] = (high_name, low_name)

    def expand(self, terms: Mapping[str, int]) -> Terms:
        """The same sum over uncut digits, joined loops replaced by their index."""
        out: Terms = {}
        for d, c in self._rejoin(terms).items():
            below = c
            for leaf in reversed(self.leaves(d)):
                out[leaf] = out.get(leaf, 0) + below
                below *= self._extent[leaf]
        return out

    def _rejoin(self, terms: Mapping[str, int]) -> Terms:
        out = dict(terms)
        for d in terms:
            joined = self._joined.get(d)
            if joined is not None and d in out:
                self._rejoin_one(out, joined)
        return out

    def _rejoin_one(self, terms: Terms, joined: Joined) -> None:
        present = [(p, r) for p, r in joined.parts if terms.get(p)]
        if not present:
            return
        part, ratio = present[-1]
        scale, rest = divmod(terms[part], ratio)
        whole = all(terms.get(p, 0) == scale * r or self._extent[p] == 1 for p, r in joined.parts)
        if rest == 0 and whole:
            for p, _ in joined.parts:
                terms.pop(p, None)
            terms[joined.name] = terms.get(joined.name, 0) + scale

    def top(self, terms: Mapping[str, int]) -> int:
        """Largest value of a sum with coefficients >= 0."""
        return sum(c * (self._extent[d] - 1) for d, c in terms.items())

    def divide(self, form: Form, by: int) -> tuple[Form, Form]:
        """``(form // by, form % by)``.

        Raises
        ------
        Unsupported
            A quotient of quasi-affine terms beyond ``x // a % b // c``.
        """
        if by == 1:
            return form, Form()
        if form.quasi:
            return self._divide_quasi(form, by)
        terms = self.expand(form.terms)
        quotient, rest = divmod(form.const, by)
        low = {d: c for d, c in terms.items() if c % by}
        if rest == 0:
            self._cut_across(low, by)
            terms = self.expand(terms)
            low = {d: c for d, c in terms.items() if c % by}
        high = {d: c // by for d, c in terms.items() if d not in low}
        if min(low.values(), default=0) >= 0 and rest + self.top(low) < by:
            return Form(quotient, high), Form(rest, low)
        # Whole multiples leave the quotient, as TVM's simplifier would have it or not.
        quasi = Quasi(low, by, 0, 1), Quasi(low, 1, by, 1)
        return Form(0, high, quasi[:1]), Form(0, {}, quasi[1:])

    def _cut_across(self, low: Terms, by: int) -> None:
        """Cut the digit that straddles a multiple of ``by``, where it can be cut evenly."""
        if self.top({d: abs(c) for d, c in low.items()}) < by:
            return
        name = max(low, key=lambda d: low[d] * (self._extent[d] - 1))
        size, rest = divmod(by, low[name]) if low[name] > 0 else (0, 1)
        below = {d: c for d, c in low.items() if d != name}
        if rest == 0 and 1 < size < self._extent[name] and self._extent[name] % size == 0:
            fits = min(below.values(), default=0) >= 0 and self.top(below) < low[name]
            if fits:
                self.cut(name, size)

    def _divide_quasi(self, form: Form, by: int) -> tuple[Form, Form]:
        q = form.quasi[0]
        if len(form.quasi) == 1 and not form.const and q.scale == 1:
            if q.mod == 0:
                return self._divide_quotient(q, form.terms, by)
            if any(form.terms.values()):
                raise Unsupported(f"quotient by {by} of a sum with a remainder")
            if q.mod % by == 0:
                return _quasi(q.terms, q.div * by, q.mod // by), _quasi(q.terms, q.div, by)
            if q.mod <= by:
                return Form(), form
        raise Unsupported(f"quotient by {by} of a quasi-affine index")

    def _divide_quotient(self, q: Quasi, beside: Mapping[str, int], by: int) -> tuple[Form, Form]:
        """``x // div`` by ``by``, where ``x // div`` has been written as ``beside + q``."""
        whole = Form(0, q.terms).plus(Form(0, beside).times(q.div)).terms
        wrapped = {d: c for d, c in whole.items() if c % (q.div * by)}
        return self.divide(Form(0, whole), q.div * by)[0], _quasi(wrapped, q.div, by)


class _NoCuts(Radix):
    """For expressions that must be plain sums: refuses every division."""

    def divide(self, form: Form, by: int) -> tuple[Form, Form]:
        raise Unsupported(f"quotient by {by}")


NO_CUTS = _NoCuts()


def _quasi(terms: Mapping[str, int], div: int, mod: int) -> Form:
    return Form(0, {}, (Quasi(terms, div, mod, 1),))
