"""Hard limits of the chip file, held against the board.

What exceeds a limit is not measured, so that a limit which the chip file puts too low would never
be found out.  So it is put to the test: of the candidates to which it alone objects, and which
exceed it by no more than a chip file may be wrong, the most promising one is measured, if the draft
puts it close to the best so far or before it.  If it runs, the limit lies at least there from now
on.  If it fails, nothing as large is tried again, and after a few failures nothing at all.

Only rules with a ``with_proven`` are tested: they rest on a number of the chip.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.containment import Disabled, guarded, ships
from pruner.draft import draft_us
from pruner.judgement import Outcome
from pruner.objections import Objections
from pruner.rule import Rule
from pruner.spec import print_rule

FAILURES = 2  # of tests, after which a limit is believed
SLACK = 1.3  # 20 % of a size, what is reserved of it and whole KiB included


@dataclass
class Limits:
    """What one run has found out; limits are named by their printed rules.

    ``raised``: a line each time that one turned out to lie higher.
    """

    chip: Chip
    raised: list[str] = field(default_factory=list)
    _failures: Counter[str] = field(default_factory=Counter)
    _too_much: dict[str, float] = field(default_factory=dict)  # the least that failed
    _waiting: dict[str, tuple[str, float]] = field(default_factory=dict)  # hash -> limit, need

    def to_test(self, found: Objections, hashes: Sequence[str], than_us: float) -> list[int]:
        """The candidates that test a limit, one each at most: the draft puts them before
        ``than_us``, what it takes for close to the best so far.
        """
        asked = {limit for limit, _ in self._waiting.values()}
        open_ = [
            i
            for i, rule in enumerate(found.rules)
            if _proving(rule) and self._failures[found.specs[i]] < FAILURES
            if found.specs[i] not in asked
        ]
        if not open_ or not np.isin(found.code(), open_).any():
            return []
        objections = np.sum([~o.keep for o in found.outcomes], axis=0)
        chosen = []
        for outcome in found.outcomes:
            if outcome.index in open_:
                i = self._promising(outcome, found.table, objections == 1, than_us)
                if i is not None:
                    self._waiting[hashes[i]] = outcome.spec, float(_need(outcome, found.table)[i])
                    chosen.append(i)
        return chosen

    def _promising(
        self, outcome: Outcome, table: KernelTable, alone: NDArray[np.bool_], than_us: float
    ) -> int | None:
        need, have = _need(outcome, table), outcome.finding.have.max()
        near = need <= have * SLACK
        near &= need < self._too_much.get(outcome.spec, np.inf)
        eligible = np.flatnonzero(alone & ~outcome.keep & near)
        if not len(eligible):
            return None
        guess = draft_us(table.take_candidates(eligible), self.chip)
        return int(eligible[guess.argmin()]) if guess.min() < than_us else None

    def observe(
        self,
        rules: Sequence[Rule],
        table: KernelTable,
        hashes: Sequence[str],
        latency_us: NDArray[np.float64],
        disabled: Disabled,
    ) -> tuple[Rule, ...]:
        """The rules after measurements: whatever ran proves that it fits."""
        for name, us in zip(hashes, latency_us.tolist(), strict=True):
            if name in self._waiting and us == np.inf:
                limit, need = self._waiting[name]
                self._failures[limit] += 1
                self._too_much[limit] = need
        self._waiting.clear()  # what was not measured after all may be asked again
        ran = np.isfinite(latency_us)[table["candidate"]]
        return tuple(self._held_against(rule, table, ran, disabled) for rule in rules)

    def _held_against(
        self, rule: Rule, table: KernelTable, ran: NDArray[np.bool_], disabled: Disabled
    ) -> Rule:
        prove, spec = _proving(rule), print_rule(rule)
        if prove is None:
            return rule
        ask = partial(rule.check, table, self.chip)
        finding = guarded(spec, ask, table.n, disabled, trusted=ships(rule))
        beyond = ran & ~finding.keep if finding is not None else np.zeros(0, bool)
        if finding is None or not beyond.any():
            return rule
        need, have, unit = finding.need[beyond].max(), finding.have.max(), finding.unit
        self.raised.append(
            f"{spec}: the limit was {have:.0f} {unit}, and a kernel that needs {need:.0f} {unit}"
            " ran: that is the limit now"
        )
        return prove(float(need))


def _proving(rule: Rule) -> Callable[[float], Rule] | None:
    return getattr(rule, "with_proven", None)


def _need(outcome: Outcome, table: KernelTable) -> NDArray[np.float64]:
    """``(candidates,)``: what the kernel needs that needs most."""
    return table.per_candidate(outcome.finding.need, np.maximum)
