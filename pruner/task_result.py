"""What the task stage left of a sketch, and why: a verdict and a chain for every value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hwsim.chip import Chip
from pruner.explain import verdict_of
from pruner.rule import BoolColumn, Finding
from pruner.task import Decision, IntMatrix, Task
from pruner.verdict import WHITELIST, Explanation, Verdict, kept, whitelisted

Answer = Callable[[], Finding | None]  # made when it is read where nothing has to go


@dataclass(frozen=True)
class Remark:
    """A rule that would have left a decision without a value: ``rule`` on ``decision``."""

    rule: str
    decision: str
    text: str


@dataclass(frozen=True)
class TaskResult:
    """What the task stage left of one sketch.

    ``allowed`` maps a decision to a mask ``(v,)``; ``nodes_before`` and ``nodes_after`` count
    (decision, value) pairs.  ``infeasible`` says that a hard limit rules out every value of some
    decision: no candidate of the sketch can be valid; a safest value is left all the same.
    ``protected`` are the values ``(v,)`` that schedules proven correct have.
    """

    task: Task
    chip: Chip
    rule_set: str
    allowed: Mapping[str, BoolColumn]
    code: Mapping[str, Any]  # (v,) index of the rule that pruned a value, -1 where none did
    rules: tuple[str, ...]
    answers: Mapping[tuple[str, int], Answer]  # the last one of a rule on a decision
    hard: tuple[bool, ...]
    remarks: tuple[Remark, ...] = ()
    infeasible: str | None = None
    disabled: Mapping[str, str] = field(default_factory=dict)
    protected: Mapping[str, BoolColumn] = field(default_factory=dict)

    @property
    def nodes_before(self) -> int:
        """(Decision, value) pairs of the whole space."""
        return sum(len(d.values) for d in self.task.decisions)

    @property
    def nodes_after(self) -> int:
        """(Decision, value) pairs left."""
        return int(sum(mask.sum() for mask in self.allowed.values()))

    def values(self, decision: str) -> IntMatrix:
        """``(v', parts)``: the values left of a decision."""
        return self._decision(decision).values[self.allowed[decision]]

    def factors(self, decision: str) -> list[IntMatrix]:
        """For each part of a tile, the distinct factors that some allowed value uses."""
        return [np.unique(column) for column in self.values(decision).T]

    def finding(self, decision: str, rule: int) -> Finding | None:
        """The last one of a rule (an index) on a decision; ``None`` where it had nothing to say."""
        answer = self.answers.get((decision, rule))
        return answer() if answer else None

    def verdict(self, decision: str, value: int) -> Verdict:
        """The deciding verdict of one value (an index into the decision's ``values``)."""
        code = int(self.code[decision][value])
        if code >= 0:
            return self._verdict(decision, value, code)
        overruled = (
            self._objecting(decision, value) if self._is_protected(decision, value) else None
        )
        return kept("task") if overruled is None else whitelisted("task", self.rules[overruled])

    def explain(self, decision: str, value: int) -> Explanation:
        """The chain of one value: every rule that had something to say, then the outcome."""
        asked = [i for i in range(len(self.rules)) if self.finding(decision, i) is not None]
        chain, last = (
            [self._verdict(decision, value, i) for i in asked],
            self.verdict(decision, value),
        )
        row = ", ".join(str(v) for v in self._decision(decision).values[value])
        return Explanation(
            subject=f"{self.task.name} {decision} = [{row}]",
            chip=self.chip.name,
            chip_version=self.chip.version,
            rule_set=self.rule_set,
            verdict=last,
            chain=[*chain, last] if last.rule == WHITELIST else chain,
            disabled=dict(self.disabled),
        )

    def _is_protected(self, decision: str, value: int) -> bool:
        return decision in self.protected and bool(self.protected[decision][value])

    def _objecting(self, decision: str, value: int) -> int | None:
        """The first rule that objects to the value."""
        said = ((i, self.finding(decision, i)) for i in range(len(self.rules)))
        return next((i for i, f in said if f is not None and not f.keep[value]), None)

    def _verdict(self, decision: str, value: int, rule: int) -> Verdict:
        finding = self.finding(decision, rule)
        assert finding is not None
        return verdict_of("task", self.rules[rule], self.hard[rule], finding, value, self.chip)

    def _decision(self, name: str) -> Decision:
        return next(d for d in self.task.decisions if d.name == name)
