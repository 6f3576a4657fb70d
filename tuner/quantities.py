"""What a sketch's candidates have to fit, as sums of products of decisions' factors.

A probe moves one prime from a tile's outermost part to another part, or takes another value of a
categorical; what changes in the sketch's nest tells the factors.  A buffer's bytes become a
product; a halo (a convolution's tile is wider than what it makes) is left out, so that the product
is a lower bound, and every bound is held against random candidates before it is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.table import KernelTable
from pruner.scopes import Scope, footprint, scopes_of
from pruner.task import Quantity, Term
from tuner.decisions import Decision, IntMatrix
from tuner.factors import prime_powers
from tuner.nest import Buffer, Nest, Statement
from tuner.sketch import Sketch

Floats = NDArray[np.float64]
Part = tuple[str, int]  # decision, part


@dataclass(frozen=True)
class Probe:
    """What row ``row`` of the probe matrix changes: ``part`` of ``decision`` times ``ratio``."""

    decision: Decision
    part: int
    row: int
    ratio: float


def probe_rows(sketch: Sketch) -> tuple[list[Probe], IntMatrix]:
    """The probes, and their matrix behind a row with every tile factor in its outermost part."""
    base = np.zeros(sketch.width, dtype=np.int64)
    for d in sketch.decisions:
        if d.kind == "perfect_tile":
            base[d.start : d.stop] = d.extent, *[1] * (d.parts - 1)
        elif d.kind != "categorical":  # a categorical starts from its first value, allowed or not
            base[d.start] = d.options()[0]
    probes, rows = [], [base]
    for d in sketch.decisions:
        for part, ratio, row in _changes(d, base):
            probes.append(Probe(d, part, len(rows), ratio))
            rows.append(row)
    return probes, np.array(rows)


def _changes(d: Decision, base: NDArray[np.int64]) -> Iterable[tuple[int, float, IntMatrix]]:
    if d.kind == "perfect_tile" and d.extent > 1:
        prime = prime_powers(d.extent)[0][0]
        for part in range(1, d.parts):
            row = base.copy()
            row[d.start] //= prime
            row[d.start + part] = prime
            yield part, float(prime), row
    elif d.kind == "categorical" and len(d.candidates) > 1 and d.candidates[0] > 0:
        row = base.copy()
        row[d.start] = 1
        yield 0, d.candidates[1] / d.candidates[0], row


def far_rows(sketch: Sketch, near: NDArray[np.int64]) -> tuple[list[Probe], IntMatrix]:
    """Rows in which one part of a tile has its whole extent, all else as in the row ``near``."""
    probes, rows = [], [near]
    for d in sketch.decisions:
        for part in range(1, d.parts if d.kind == "perfect_tile" and d.extent > 1 else 1):
            row = near.copy()
            row[d.start], row[d.start + part] = 1, d.extent
            probes.append(Probe(d, part, len(rows), float(d.extent)))
            rows.append(row)
    return probes, np.array(rows)


def corner_rows(sketch: Sketch, near: NDArray[np.int64]) -> IntMatrix:
    """Two tiles at a time with their whole extent in one part each: where bounds are tightest."""
    probes, rows = far_rows(sketch, near)
    found = [rows]
    for p in probes:
        others = [q.row for q in probes if q.decision.start > p.decision.start]
        both, own = rows[others], slice(p.decision.start, p.decision.stop)
        both[:, own] = rows[p.row, own]
        found.append(both)
    return np.concatenate(found)


@dataclass(frozen=True)
class Measured:
    """A sketch's probes and random candidates: all that quantities are found from.

    ``matrix`` is that of the probes, ``nest`` and ``probed`` what the sketch makes of it; ``table``
    has a candidate for each of ``rows``; tiles as large as can be are among them.
    """

    sketch: Sketch
    probes: Sequence[Probe]
    matrix: IntMatrix
    rows: IntMatrix
    nest: Nest
    probed: KernelTable
    table: KernelTable

    @classmethod
    def of(cls, sketch: Sketch, sample: int) -> Measured:
        """Probe a sketch and draw ``sample`` random candidates of it."""
        probes, matrix = probe_rows(sketch)
        rows = sketch.sample(np.random.default_rng(0), sample)
        rows = np.concatenate([rows, corner_rows(sketch, matrix[0])])
        probed, table = sketch.kernels(matrix), sketch.kernels(rows)
        return cls(sketch, probes, matrix, rows, sketch.nest(matrix), probed, table)

    def quantities(self, main: Statement) -> tuple[Quantity, ...]:
        """All of them; those of which nothing is known are left out."""
        out = [q for scope in scopes_of(self.table.backend) for q in self._kept(scope)]
        if self.table.backend == "gpu_sm":
            out += [self._threads(main), self._pipeline()]
        return tuple(q for q in out if q.terms)

    def term(self, amount: Floats) -> Term:
        """``amount`` ``(probes + 1,)`` as a product: exponents from what a probe changes."""
        factors: list[Part] = []
        scale = float(amount[0])
        for d in dict.fromkeys(p.decision for p in self.probes):
            probes = [p for p in self.probes if p.decision is d]
            ratios = {p.part: amount[p.row] / amount[0] for p in probes}
            step = probes[0].ratio
            tile = d.kind == "perfect_tile"
            outermost = tile and any(np.isclose(r * step, 1) for r in ratios.values())
            if outermost:  # it spans the outermost part: a full extent in the base row
                factors.append((d.name, 0))
                scale /= d.extent
            grows = 1.0 if outermost else step  # a prime that stays inside changes nothing
            parts = [(d.name, part) for part, r in ratios.items() if np.isclose(r, grows)]
            scale /= 1 if tile or not parts else d.candidates[0]
            factors += parts
        return Term(scale, tuple(factors))

    def value(self, terms: Iterable[Term], rows: IntMatrix) -> Floats:
        """``(rows,)`` the sum of terms for candidates."""
        return np.asarray(sum((self._product(t, rows) for t in terms), np.zeros(len(rows))))

    def _product(self, term: Term, rows: IntMatrix) -> Floats:
        out = np.full(len(rows), term.coefficient)
        for name, part in term.factors:
            d = next(d for d in self.sketch.decisions if d.name == name)
            column = rows[:, d.start + part]
            out *= column if d.kind == "perfect_tile" else np.array(d.candidates)[column]
        return out

    def _kept(self, scope: Scope) -> list[Quantity]:
        """Bytes of a scope: the buffers that live at one moment, for each moment."""
        actual, probed = (_most(t, footprint(t, scope)) for t in (self.table, self.probed))
        found, together = [], self._together(scope)
        for names in together:
            terms = [t for name in names for t in self._size(self.nest.buffers[name])]
            beyond = probed - self.value(terms, self.matrix)
            near = [self.term(beyond)] if (beyond > 0).all() else []  # room that no buffer takes
            found.append(self._bounded([*terms, *near], actual))
            if near and len(together) == 1:
                found += self._grown(terms, scope, actual)
        return [Quantity(f"{scope}_bytes", "B", kept) for kept in dict.fromkeys(found)]

    def _grown(self, terms: Sequence[Term], scope: Scope, actual: Floats) -> list[tuple[Term, ...]]:
        """The same where that room is the largest of several needs, another one for large tiles."""
        probes, rows = far_rows(self.sketch, self.matrix[0])
        table = self.sketch.kernels(rows)
        beyond = _most(table, footprint(table, scope)) - self.value(terms, rows)
        found = []
        for p in probes:
            if beyond[p.row] > beyond[0] * (1 + 1e-9):
                more = Term(float(beyond[p.row]) / p.ratio, ((p.decision.name, p.part),))
                kept = self._bounded([*terms, more], actual)
                found += [kept] if more in kept else []
        return found

    def _together(self, scope: Scope) -> list[tuple[str, ...]]:
        """Buffers that need room at the same time: all, but dynamic shared ones share an arena."""
        inside = [b for b in self.nest.buffers.values() if b.scope.split(".")[-1] == scope]
        merged = [b for b in self.nest.buffers.values() if b.scope == f"{scope}.dyn"]
        if not merged:
            return [tuple(b.name for b in inside)] if inside else []
        alive = set()
        for kernel in self.nest.kernels:
            lives = {b.name: _life(kernel, b) for b in merged}
            for moment in range(len(kernel)):
                alive.add(tuple(name for name, life in lives.items() if moment in life))
        largest = [a for a in alive if not any(set(a) < set(b) for b in alive)]
        return [(*(b.name for b in inside), *names) for names in sorted(largest) if names]

    def _size(self, buffer: Buffer) -> list[Term]:
        """Bytes of a buffer's copies, and of the padding of its rows."""
        outer = _product(buffer.shape[:-1], self.nest.n) * np.dtype(buffer.dtype).itemsize
        outer *= _copies(self.nest, buffer)
        terms = [self.term(outer * _product(buffer.shape[-1:], self.nest.n))]
        if buffer.row_pad is not None and (buffer.row_pad > 0).all():
            terms.append(self.term(outer * buffer.row_pad))
        return terms

    def _bounded(self, terms: Iterable[Term], actual: Floats) -> tuple[Term, ...]:
        """The terms whose sum is no more than ``actual`` on every row; the smallest go first."""
        kept = sorted(terms, key=lambda t: -t.coefficient)
        while kept:
            if (self.value(kept, self.rows) <= actual * (1 + 1e-9)).all():
                return tuple(kept)
            kept.pop()
        return ()

    def _threads(self, main: Statement) -> Quantity:
        """Threads of a block: a floor and a ceiling are asked of them."""
        digits = [d.extent for d in main.digits if d.kind.startswith("threadIdx")]
        return self._exact("threads", "threads", _product(digits, self.nest.n))

    def _pipeline(self) -> Quantity:
        """Steps of the software-pipelined loop; TVM's verifier refuses a single one."""
        extents = [
            s.pipeline_extent
            for kernel in self.nest.kernels
            for s in kernel
            if s.pipeline_extent is not None
        ]
        if not extents:
            return Quantity("pipeline_extent", "steps", ())
        return self._exact("pipeline_extent", "steps", np.asarray(extents[0], dtype=np.float64))

    def _exact(self, column: str, unit: str, amount: Floats) -> Quantity:
        """The column as one product, or nothing where it is none on some random candidate."""
        term = self.term(amount)
        ratio = _most(self.table, self.table[column]) / self.value([term], self.rows)
        if not ratio[0] or not np.allclose(ratio, ratio[0]):
            return Quantity(column, unit, ())
        exact = Term(term.coefficient * float(ratio[0]), term.factors)
        return Quantity(column, unit, (exact,))


def _most(table: KernelTable, rows: NDArray[Any]) -> Floats:
    """The largest of a candidate's kernels."""
    return np.asarray(table.per_candidate(rows, np.maximum), dtype=np.float64)


def _product(columns: Iterable[NDArray[np.int64]], n: int) -> Floats:
    return np.asarray(prod((np.asarray(c, dtype=np.float64) for c in columns), start=np.ones(n)))


def _life(kernel: Sequence[Statement], buffer: Buffer) -> range:
    """From the first to the last statement that touches the buffer."""
    users = [
        i
        for i, s in enumerate(kernel)
        if buffer.name in {s.write.buffer, *(r.buffer for r in s.reads)}
    ]
    return range(users[0], users[-1] + 1) if users else range(0)


def _copies(nest: Nest, buffer: Buffer) -> Floats:
    """Copies that a pipeline or a double buffer keeps, ``(n,)``."""
    copies = np.ones(nest.n)
    for kernel in nest.kernels:
        for s in kernel:
            if s.write.buffer == buffer.name and s.stages is not None:
                copies = np.maximum(copies, s.stages)
    return copies
