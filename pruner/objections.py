"""What the rules of a trial stage say about a table, by numpy or by an engine in its stead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.containment import Disabled, guarded, ships
from pruner.engine import Engine, Reading
from pruner.features import features
from pruner.gate import Gate, Opinion
from pruner.judgement import KEPT, Outcome
from pruner.rule import Rule


@dataclass(frozen=True)
class Objections:
    """``asked`` is what numpy found; what the engine found is written out when it is wanted."""

    rules: Sequence[Rule]
    specs: Sequence[str]
    table: KernelTable
    asked: tuple[Outcome, ...]
    reading: Reading | None

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What every rule found, in their order; broken ones are left out."""
        if self.reading is None:
            return self.asked
        known = [
            Outcome.of(i, self.specs[i], self.rules[i].hard, finding, self.table)
            for i, finding in self.reading.findings().items()
        ]
        return tuple(sorted((*self.asked, *known), key=lambda outcome: outcome.index))

    def code(self) -> NDArray[np.int64]:
        """``(n,)`` position of the first rule that objects, or ``KEPT``."""
        n = self.table.n_candidates
        code = np.full(n, KEPT, np.int64) if self.reading is None else self.reading.code.copy()
        for outcome in reversed(self.asked):
            code[~outcome.keep & ((code == KEPT) | (code > outcome.index))] = outcome.index
        return code

    def opinion(self, gate: Gate, chip: Chip, alive: NDArray[np.int64]) -> Opinion:
        """The gate's on the candidates ``alive``, to none of which a rule objects."""
        reading, table = self.reading, self.table
        every = len(alive) == table.n_candidates
        if reading is not None and reading.features is not None:
            x, trees = reading.features, reading.trees
            if every:
                return gate.opine(x, trees)
            return gate.opine(x[alive], None if trees is None else trees[alive])
        return gate.opine(features(table if every else table.take_candidates(alive), chip))


def objections(
    rules: Sequence[Rule],
    specs: Sequence[str],
    table: KernelTable,
    chip: Chip,
    disabled: Disabled,
    engine: Engine | None = None,
    gate: Gate | None = None,
) -> Objections:
    """Ask every rule: the engine first, numpy what that leaves out."""
    reading = None if engine is None or not table.n else engine.read(rules, gate, table)
    left = [i for i in range(len(rules)) if reading is None or i not in reading.rules]
    if left:  # a rule may be anybody's
        table = table.anew() if all(ships(rules[i]) for i in left) else table.frozen()
    asked = []
    for i in left:
        ask, trusted = partial(rules[i].check, table, chip), ships(rules[i])
        finding = guarded(specs[i], ask, table.n, disabled, trusted=trusted)
        if finding is not None:
            asked.append(Outcome.of(i, specs[i], rules[i].hard, finding, table))
    return Objections(rules, specs, table, tuple(asked), reading)
