"""A sketch as the task stage sees it: decisions with their axes, and what candidates must fit.

Everything is found by probing the sketch's nest, which costs nothing to evaluate over columns: one
prime factor is moved from a tile's outermost part to another part, and what changes tells which
loop the part makes and which buffers it fills.  A buffer's bytes become a product of factors; a
halo (a convolution's tile is wider than what it makes) is left out, so that the product is a lower
bound, and every bound is held against random candidates before it is believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwsim.table import KernelTable
from pruner.scopes import footprint, scopes_of
from pruner.task import Axis, Meaning, Quantity, Role, Task, Term
from pruner.task import Decision as TaskDecision
from tuner.decisions import Decision, IntMatrix
from tuner.factors import prime_powers
from tuner.nest import Nest, Statement
from tuner.sketch import Sketch

SAMPLE = 128  # random candidates that every bound has to hold on
_MEANINGS: dict[str, Meaning] = {
    "vector": "vector_lanes",
    "unroll": "unroll",
    "buffers": "buffers",
    "split": "threads",
    "cores": "cores",
}
_ROLES: dict[str, Role] = {"blockIdx": "core", "vthread": "vthread", "threadIdx": "thread"}
_SERIAL: Role = "serial"
Part = tuple[str, int]  # decision, part


@dataclass(frozen=True)
class _Probe:
    """One prime moved into ``part`` of ``decision``: row of the probe matrix, and the prime."""

    decision: Decision
    part: int
    row: int
    prime: int


def describe(sketch: Sketch) -> Task:
    """The task stage's description of a sketch; without the columnar road, decisions alone."""
    backend = sketch.chip.backend
    if sketch.road == "tir":
        decisions = tuple(_bare(sketch, d) for d in sketch.decisions)
        return Task(f"sketch {sketch.index}", backend, decisions)
    base, probes = _probe_rows(sketch)
    nest = sketch.nest(np.vstack([base, *(m for _, m in probes)]))
    found = [p for p, _ in probes]
    main = _main(nest)
    rows = sketch.sample(np.random.default_rng(0), SAMPLE)
    table = sketch.kernels(rows)
    return Task(
        name=f"sketch {sketch.index}",
        backend=backend,
        decisions=tuple(_decision(sketch, d, main, found) for d in sketch.decisions),
        quantities=_quantities(sketch, nest, found, table, rows),
        matmul=bool((table["macs"] > 0).any()),
        thread_floor=int(table["thread_floor"].max()) if backend == "gpu_sm" else 0,
    )


def _bare(sketch: Sketch, d: Decision) -> TaskDecision:
    if d.kind == "perfect_tile":
        roles: tuple[Role, ...] = tuple(_SERIAL for _ in range(d.parts))
        axis = Axis(d.name, d.extent, sketch.workload.dtype)
        return TaskDecision(d.name, "tile", d.options(), roles, axis)
    values = d.options()
    if d.kind == "categorical":
        values = np.array(d.candidates, dtype=np.int64)[values]
    return TaskDecision(d.name, _meaning(d), values, axis=_value_axis(sketch, d))


def _meaning(d: Decision) -> Meaning:
    if d.kind == "compute_location":
        return "location"
    return _MEANINGS.get(d.name.split("#")[0].rsplit(".", 1)[-1], "threads")


def _value_axis(sketch: Sketch, d: Decision) -> Axis | None:
    """Vector lanes are lanes of the workload's input type."""
    if _meaning(d) != "vector_lanes":
        return None
    return Axis(d.name, 0, sketch.workload.dtype, vectorisable=True)


def _probe_rows(sketch: Sketch) -> tuple[IntMatrix, list[tuple[_Probe, IntMatrix]]]:
    """The candidate with every tile factor in its outermost part, and one row for each probe."""
    base = np.zeros((1, sketch.width), dtype=np.int64)
    for d in sketch.decisions:
        base[0, d.start : d.stop] = 1 if d.kind == "perfect_tile" else d.options()[0]
        if d.kind == "perfect_tile":
            base[0, d.start] = d.extent
    probes: list[tuple[_Probe, IntMatrix]] = []
    for d in sketch.decisions:
        if d.kind != "perfect_tile" or d.extent == 1:
            continue
        prime = prime_powers(d.extent)[0][0]
        for part in range(1, d.parts):
            row = base.copy()
            row[0, d.start] //= prime
            row[0, d.start + part] = prime
            probes.append((_Probe(d, part, len(probes) + 1, prime), row))
    return base, probes


def _main(nest: Nest) -> Statement:
    """The statement that multiplies and accumulates, else the one under the most loops."""
    statements = [s for kernel in nest.kernels for s in kernel]
    return max(statements, key=lambda s: (s.ops.macs, s.role == "compute", len(s.digits)))


def _decision(sketch: Sketch, d: Decision, main: Statement, probes: list[_Probe]) -> TaskDecision:
    if d.kind != "perfect_tile":
        return _bare(sketch, d)
    roles: list[Role] = ["serial"] * d.parts
    reduction = False
    for probe in (p for p in probes if p.decision is d):
        for digit in main.digits:
            moved = int(digit.extent[probe.row]) - int(digit.extent[0])
            if moved:
                part = probe.part if moved > 0 else 0
                roles[part] = _ROLES.get(digit.kind.split(".")[0], "serial")
                reduction |= digit.reduction
    unit = _unit(main, reduction)
    axis = Axis(
        name=d.name,
        length=d.extent * unit,
        dtype=sketch.workload.dtype,
        reuse=sketch.workload.flops / max(1, d.extent * unit),
        vectorisable=not reduction,
        reduction=reduction,
    )
    return TaskDecision(d.name, "tile", d.options(), tuple(roles), axis, unit)


def _unit(main: Statement, reduction: bool) -> int:
    """Elements that one step covers: a side of the tensor intrinsic, the smaller spatial one."""
    if main.intrin is None:
        return 1
    m, n, k = main.intrin
    return k if reduction else min(m, n)


def _quantities(
    sketch: Sketch, nest: Nest, probes: list[_Probe], table: KernelTable, rows: IntMatrix
) -> tuple[Quantity, ...]:
    out = []
    for scope in scopes_of(sketch.chip.backend):
        terms = [
            term
            for b in nest.buffers.values()
            if b.scope.split(".")[-1] in (scope, "dyn" if scope == "shared" else scope)
            for term in [_term(_bytes(b.shape, b.dtype, nest.n), probes)]
        ]
        actual = table.per_candidate(footprint(table, scope), np.maximum)
        out.append(Quantity(f"{scope}_bytes", "B", _bounded(sketch, terms, rows, actual)))
    if sketch.chip.backend == "gpu_sm":
        out.append(_threads(sketch, nest, probes, table, rows))
    return tuple(q for q in out if q.terms)


def _bytes(shape: tuple[NDArray[np.int64], ...], dtype: str, n: int) -> NDArray[np.float64]:
    size = np.full(n, np.dtype(dtype).itemsize, dtype=np.float64)
    return np.asarray(prod((np.asarray(s, dtype=np.float64) for s in shape), start=size))


def _term(amount: NDArray[np.float64], probes: list[_Probe]) -> Term:
    """``amount`` ``(probes + 1,)`` as a product of factors: exponents from what a prime changes."""
    factors: list[Part] = []
    scale = float(amount[0])
    for d in dict.fromkeys(p.decision for p in probes):
        ratios = {p.part: amount[p.row] / amount[0] for p in probes if p.decision is d}
        prime = next(p.prime for p in probes if p.decision is d)
        outermost = any(np.isclose(r * prime, 1) for r in ratios.values())
        if outermost:  # the buffer spans the outermost part: a full extent in the base row
            factors.append((d.name, 0))
            scale /= d.extent
        grows = 1.0 if outermost else prime  # a prime that stays inside changes nothing
        factors += [(d.name, part) for part, r in ratios.items() if np.isclose(r, grows)]
    return Term(scale, tuple(factors))


def _bounded(
    sketch: Sketch, terms: list[Term], rows: IntMatrix, actual: NDArray[np.float64]
) -> tuple[Term, ...]:
    """The terms whose sum is no more than ``actual`` on every row; the smallest go first."""
    kept = sorted(terms, key=lambda t: -t.coefficient)
    while kept:
        total = sum(_value(sketch, t, rows) for t in kept)
        if (total <= actual * (1 + 1e-9)).all():
            return tuple(kept)
        kept.pop()
    return ()


def _value(sketch: Sketch, term: Term, rows: IntMatrix) -> NDArray[np.float64]:
    starts = {d.name: d.start for d in sketch.decisions}
    out = np.full(len(rows), term.coefficient)
    for name, part in term.factors:
        out *= rows[:, starts[name] + part]
    return out


def _threads(
    sketch: Sketch, nest: Nest, probes: list[_Probe], table: KernelTable, rows: IntMatrix
) -> Quantity:
    """Threads of a block: exact or left out, since both a floor and a ceiling are asked of it."""
    digits = [d for d in _main(nest).digits if d.kind.startswith("threadIdx")]
    amount = np.asarray(prod((d.extent.astype(np.float64) for d in digits), start=np.ones(nest.n)))
    term = _term(amount, probes)
    actual = table.per_candidate(table["threads"], np.maximum)
    predicted = _value(sketch, term, rows)
    ratio = actual / predicted
    if not np.allclose(ratio, ratio[0]):
        return Quantity("threads", "threads", ())
    exact = Term(term.coefficient * float(ratio[0]), term.factors)
    return Quantity("threads", "threads", (exact,))
