"""Values that hang on few decisions, computed once for all their options and then looked up.

The size of a tile of A depends on the tiles of m and k alone, whatever the other decisions are:
most of what a batch of candidates needs is known before its first candidate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.memory import keep_freed_memory
from tuner.columns.evaluate import Column, Plan, Step, Steps
from tuner.columns.node import Expr
from tuner.columns.options import Options
from tuner.columns.sections import Sections
from tuner.decisions import IntColumn, IntMatrix

CHUNK = 4096  # rows at a time: what lives at a time stays in the caches
ROWS = 8192  # combinations of options up to which a value is kept for all of them
_FEW = 2  # steps from the matrix up to which a value is computed rather than looked up

Values = Mapping[Expr, tuple[int, Column]]  # the first row that has a value, and the values
Support = frozenset[int]  # positions of decisions


class Tables:
    """A plan over decision vectors of a sketch that lie in sections.

    ``asked`` are the outputs of the plan that each section asks for.
    """

    def __init__(
        self, plan: Plan, options: Sequence[Options], asked: Sequence[Sequence[Expr]]
    ) -> None:
        self._plan, self._options = plan, options
        self._supports = _supports(plan, self._options)
        self._tables = self._tabulated()
        keep_freed_memory()
        steps, self._indices = self._outer()
        self._steps = self._sections(steps, asked)
        self._computed = self._sections(plan.steps, asked)

    def __call__(self, matrix: IntMatrix, bounds: Sequence[int]) -> Values:
        """Values of the outputs for the rows ``(n, d)`` of the sections that ask for them; section
        i are the rows from ``bounds[i]`` to ``bounds[i + 1]``.
        """
        parts = [
            self._of(matrix[i : i + CHUNK], [min(max(b - i, 0), CHUNK) for b in bounds])
            for i in range(0, len(matrix), CHUNK)
        ]
        out: dict[Expr, tuple[int, Column]] = {}
        for e, slot in self._plan.outputs.items():
            found = [part[slot] for part in parts if part[slot] is not None]
            if found:
                column = found[0] if len(found) == 1 else np.concatenate(found)
                out[e] = bounds[self._steps.spans[slot][0]], column
        return out

    def _of(self, matrix: IntMatrix, bounds: Sequence[int]) -> Sequence[Any]:
        """The values in each slot, None where there are none."""
        columns = np.ascontiguousarray(matrix.T)
        slots = self._plan.start(columns)
        used = sorted(frozenset[int]().union(*self._indices))
        taken = {d: self._options[d](columns) for d in used}
        if any((t < 0).any() for t in taken.values()):  # what is no option has no place in a table
            self._computed.run(slots, bounds)
            return slots
        for support in self._indices:
            slots.append(self._index(support, taken))
        self._steps.run(slots, bounds)
        return slots

    def _index(self, support: Support, taken: Mapping[int, IntColumn]) -> IntColumn:
        """The row of a table that each candidate's options are in."""
        first, *others = sorted(support)
        index = taken[first]
        for d in others:
            index = index * len(self._options[d].options) + taken[d]
        return index

    def _small(self, slot: int) -> bool:
        return prod(len(self._options[d].options) for d in self._supports[slot]) <= ROWS

    def _tabulated(self) -> dict[int, NDArray[Any]]:
        """Slot -> table, of the values that others than such take, or nobody does."""
        plan = self._plan
        inner = {s.out: s for s in plan.steps if self._small(s.out)}
        wanted = {a for s in plan.steps if s.out not in inner for a in s.args}
        asked = [slot for slot in (*wanted, *plan.outputs.values()) if slot in inner]
        kept = {slot for slot in asked if _cone(slot, inner) > _FEW}
        tables: dict[int, NDArray[Any]] = {}
        for support in dict.fromkeys(self._supports[slot] for slot in sorted(kept)):
            chosen = [slot for slot in sorted(kept) if self._supports[slot] == support]
            slots = plan.start(self._combinations(support))
            Steps(_needed(plan.steps, chosen), chosen).run(slots)
            tables |= {slot: slots[slot] for slot in chosen}
        return tables

    def _combinations(self, support: Support) -> IntMatrix:
        """All options of some decisions, as columns ``(d, m)``; the first one of the others."""
        sizes = [len(self._options[d].options) for d in sorted(support)]
        taken = dict(zip(sorted(support), np.indices(sizes).reshape(len(sizes), -1), strict=True))
        rows = prod(sizes)
        parts = [
            o.options[taken.get(d, np.zeros(rows, dtype=np.int64))]
            for d, o in enumerate(self._options)
        ]
        return np.ascontiguousarray(np.concatenate(parts, axis=1).T)

    def _outer(self) -> tuple[Sequence[Step], list[Support]]:
        """What is left to be done for each batch, and the supports of the tables."""
        plan, indices = self._plan, list(dict.fromkeys(self._supports[s] for s in self._tables))
        at = {support: len(self._supports) + i for i, support in enumerate(indices)}
        looked_up = [
            Step(table.take, (at[self._supports[slot]],), slot)
            for slot, table in self._tables.items()
        ]
        rest = [s for s in plan.steps if s.out not in self._tables]
        return _in_order(rest, looked_up), indices

    def _sections(self, steps: Sequence[Step], asked: Sequence[Iterable[Expr]]) -> Sections:
        given = [*self._plan.columns, *(len(self._supports) + i for i in range(len(self._indices)))]
        return Sections(steps, [[self._plan.outputs[e] for e in exprs] for exprs in asked], given)


def _supports(plan: Plan, options: Sequence[Options]) -> list[Support]:
    """The decisions that the value of each slot depends on."""
    of_column = {
        o.start + i: frozenset({d})
        for d, o in enumerate(options)
        for i in range(o.options.shape[1])
    }
    found = [Support()] * plan.slots
    for slot, column in plan.columns.items():
        found[slot] = of_column[column]
    for step in plan.steps:
        found[step.out] = Support().union(*(found[a] for a in step.args))
    return found


def _cone(slot: int, steps: Mapping[int, Step]) -> int:
    """Steps that a value takes, counted up to one more than few."""
    seen, todo = set[int](), [slot]
    while todo and len(seen) <= _FEW:
        at = todo.pop()
        if at in steps and at not in seen:
            seen.add(at)
            todo += steps[at].args
    return len(seen)


def _needed(steps: Sequence[Step], ends: Sequence[int]) -> list[Step]:
    """Those of the steps that the slots ``ends`` need."""
    wanted, out = set(ends), []
    for step in reversed(steps):
        if step.out in wanted:
            out.append(step)
            wanted.update(step.args)
    return out[::-1]


def _in_order(steps: Sequence[Step], early: Sequence[Step]) -> list[Step]:
    """The steps, each of the ``early`` ones moved to where it is needed first."""
    waiting = {s.out: s for s in early}
    out: list[Step] = []
    for step in steps:
        out += _called(step, waiting)
        out.append(step)
    return [*out, *waiting.values()]


def _called(step: Step, waiting: dict[int, Step]) -> Iterator[Step]:
    for slot in dict.fromkeys(step.args):
        if slot in waiting:
            yield waiting.pop(slot)
