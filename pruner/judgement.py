"""What the trial stage decided for a batch, as columns; verdicts are written out when asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.explain import evidence, trial_s, verdict_of
from pruner.gate import Opinion
from pruner.rule import BoolColumn, Finding, FloatColumn
from pruner.verdict import Benefit, Explanation, Verdict, kept, whitelisted

KEPT, GATE = -1, -2  # codes of what no rule pruned


@dataclass(frozen=True)
class Outcome:
    """One rule's finding over rows and, reduced, over candidates: any row's objection counts."""

    index: int
    spec: str
    hard: bool
    finding: Finding
    keep: BoolColumn  # (candidates,)
    starts: NDArray[np.int64] | None  # first row of each candidate; None: a row each

    @classmethod
    def of(cls, index: int, spec: str, hard: bool, finding: Finding, table: KernelTable) -> Outcome:
        """Reduce a finding over the rows of ``table``."""
        starts = table.starts
        keep = finding.keep if starts is None else np.logical_and.reduceat(finding.keep, starts)
        return cls(index, spec, hard, finding, keep, starts)

    def violation(self) -> FloatColumn:
        """``(candidates,)``: how far each is beyond the limit, summed over its rows."""
        rows = self.finding.violation()
        if self.starts is None:
            return rows
        summed: FloatColumn = np.add.reduceat(rows, self.starts)
        return summed

    def row(self, candidate: int) -> int:
        """The row that decides: the worst offender, else the one closest to the limit."""
        if self.starts is None:
            return candidate
        start = int(self.starts[candidate])
        last = candidate + 1 == len(self.starts)
        stop = len(self.finding.keep) if last else int(self.starts[candidate + 1])
        f = self.finding
        ratio = f.need[start:stop] / np.maximum(f.have[start:stop], 1e-12)
        return start + int(np.lexsort((ratio, f.violation()[start:stop]))[-1])


@dataclass(frozen=True)
class Judgement:
    """The trial stage's word on ``n`` candidates.

    Parameters
    ----------
    keep:
        ``(n,)`` whether to measure the candidate (probes and a rescued candidate included).
    code:
        ``(n,)`` what objects to it: an index into ``rules``, ``GATE`` or ``KEPT``; the first in
        order gets the blame.  A probe's code says what would have pruned it.
    opinion:
        What the gate said; ``nan`` where it was not asked.
    probe:
        ``(n,)`` to be measured although pruned, to check the pruner.
    find:
        Gives ``outcomes``, what every rule found, which few ask for.
    hard:
        ``(n,)`` whether it is a hard limit that objects.
    slowest_us:
        The slowest latency measured, ``inf`` while there is none.
    listed:
        ``(n,)`` kept although pruned, because it is proven correct.
    note:
        Which rule left nothing, where the safest candidate had to be rescued.
    """

    keep: BoolColumn
    code: NDArray[np.int64]
    opinion: Opinion
    probe: BoolColumn
    listed: BoolColumn
    hashes: tuple[str, ...]
    rules: tuple[str, ...]
    gate: str
    threshold: float
    chip: Chip
    rule_set: str
    find: Callable[[], tuple[Outcome, ...]]
    disabled: Mapping[str, str]
    hard: BoolColumn
    slowest_us: float
    note: str | None = None

    def __len__(self) -> int:
        return len(self.keep)

    @property
    def probability(self) -> FloatColumn:
        """``(n,)`` the gate's probability that a candidate is worthless; ``nan``: not asked."""
        return self.opinion.probability

    @property
    def tests(self) -> BoolColumn:
        """``(n,)`` the probes that put a hard limit to the test."""
        return self.probe & self.hard

    @cached_property
    def penalty_us(self) -> FloatColumn:
        """``(n,)`` latency for a search strategy to assume: ``inf`` beyond a hard limit, the
        slowest measured for what soft rules and the gate prune, ``nan`` for what is kept.
        """
        return np.where(self.keep, np.nan, np.where(self.hard, np.inf, self.slowest_us))

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What every rule found, in their order."""
        return self.find()

    def pruned_by(self) -> dict[str, int]:
        """How many candidates each rule (or the gate) is to blame for, probes included."""
        counts = {spec: int((self.code == i).sum()) for i, spec in enumerate(self.rules)}
        counts[self.gate] = int((self.code == GATE).sum())
        return {spec: count for spec, count in counts.items() if count}

    def verdict(self, i: int) -> Verdict:
        """The deciding verdict of candidate ``i``; a probe's or rescued one's has ``keep`` set."""
        code = int(self.code[i])
        if code == KEPT:
            return _with_probability(kept("trial"), self.opinion.probability[i])
        found = (
            self._gate_verdict(i) if code == GATE else self._rule_verdict(self._outcome(code), i)
        )
        if not self.keep[i]:
            return found
        if self.listed[i]:
            said = whitelisted("trial", found.rule)
            return _with_probability(said, self.opinion.probability[i])
        return msgspec.structs.replace(found, keep=True, probe=bool(self.probe[i]), benefit=None)

    def explain(self, i: int) -> Explanation:
        """The chain of candidate ``i``: every rule in order, gate, whitelist, then the outcome."""
        chain = [self._rule_verdict(outcome, i) for outcome in self.outcomes]
        if not np.isnan(self.opinion.probability[i]):
            chain.append(self._gate_verdict(i))
        if self.listed[i]:
            chain.append(self.verdict(i))
        return Explanation(
            subject=self.hashes[i],
            chip=self.chip.name,
            chip_version=self.chip.version,
            rule_set=self.rule_set,
            verdict=self.verdict(i),
            chain=chain,
            disabled=dict(self.disabled),
        )

    def _outcome(self, code: int) -> Outcome:
        return next(o for o in self.outcomes if o.index == code)

    def _rule_verdict(self, outcome: Outcome, i: int) -> Verdict:
        row = outcome.row(i)
        return verdict_of("trial", outcome.spec, outcome.hard, outcome.finding, row, self.chip)

    def _gate_verdict(self, i: int) -> Verdict:
        p, predicted = float(self.opinion.probability[i]), float(self.opinion.predicted_us[i])
        keep, cut = not self.opinion.prune[i], self.opinion.cut_us
        benefit = Benefit(text="one trial unlikely to win", saved_s=trial_s(self.chip))
        words = "not surely worthless" if keep else "worthless"
        return Verdict(
            keep=keep,
            stage="trial",
            rule=self.gate,
            reason=f"{words}: probability {p:.3f}, predicted {predicted:.6g} us, cut {cut:.6g} us",
            evidence=[
                evidence("worthless_probability", p, self.threshold, "share"),
                evidence("predicted_us", predicted, cut, "us"),
            ],
            benefit=None if keep else benefit,
            probability=p,
        )


def _with_probability(verdict: Verdict, probability: float) -> Verdict:
    """The verdict with the gate's probability, if the gate was asked."""
    if np.isnan(probability):
        return verdict
    return msgspec.structs.replace(verdict, probability=float(probability))
