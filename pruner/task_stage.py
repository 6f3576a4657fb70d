"""Running task rules to a fixpoint over one sketch's decisions, with a verdict for every value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from hwsim.chip import Chip
from pruner.containment import Disabled, guarded, ships
from pruner.rule import BoolColumn, Finding
from pruner.spec import print_rule
from pruner.task import Decision, Space, Task, TaskRule, columns_of_values
from pruner.task_result import Answer, Remark, TaskResult


class TaskStage:
    """Prunes decision values of sketches for one chip; rules that break are disabled and named."""

    def __init__(self, rules: Sequence[TaskRule], chip: Chip, rule_set: str = "custom") -> None:
        self.chip = chip
        self.rule_set = rule_set
        self.rules = tuple(r for r in rules if chip.backend in r.backends)
        self.specs = tuple(print_rule(r) for r in self.rules)
        self.trusted = tuple(ships(r) for r in self.rules)
        self.spares = tuple(getattr(r, "spares", None) if ships(r) else None for r in self.rules)
        self.disabled: Disabled = {}

    def run(self, task: Task, protected: Mapping[str, BoolColumn] | None = None) -> TaskResult:
        """Prune one sketch; deterministic, independent of earlier calls but for broken rules.

        ``protected``: by decision the values ``(v,)`` that no rule may take.
        """
        return _Run(self, task, protected or {}).result()


class _Run:
    """One sketch on its way to the fixpoint."""

    def __init__(self, stage: TaskStage, task: Task, protected: Mapping[str, BoolColumn]) -> None:
        self.stage, self.task, self.space, self.protected = stage, task, Space(task), protected
        self.code = columns_of_values(task, -1)
        self.answers: dict[tuple[str, int], Answer] = {}
        self.remarks: dict[tuple[str, int], Remark] = {}
        self._settled: dict[str, set[int]] = {d.name: set() for d in task.decisions}
        self.infeasible: str | None = None
        self._joint = [i for i, rule in enumerate(stage.rules) if rule.joint]
        self._about = [self._decisions_of(rule) for rule in stage.rules]

    def result(self) -> TaskResult:
        changed = self._sweep(range(len(self.stage.rules)))
        while changed:  # this ends: every change takes a value
            changed = self._sweep(self._joint)
        stage = self.stage
        return TaskResult(
            self.task,
            stage.chip,
            stage.rule_set,
            self.space.allowed,
            self.code,
            stage.specs,
            self.answers,
            tuple(r.hard for r in stage.rules),
            tuple(self.remarks.values()),
            self.infeasible,
            dict(stage.disabled),
            self.protected,
        )

    def _sweep(self, rules: Sequence[int]) -> bool:
        changed = False
        for i in rules:
            for decision in self._about[i]:
                changed |= self._ask(i, decision)
        return changed

    def _decisions_of(self, rule: TaskRule) -> Sequence[Decision]:
        """Those that the rule may have something to say about."""
        about: tuple[str, ...] | None = getattr(rule, "about", None)
        if about is None:
            return self.task.decisions
        names = set[str]().union(*(q.decisions for a in about for q in self.space.quantities(a)))
        return [d for d in self.task.decisions if d.name in names] if names else ()

    def _ask(self, index: int, decision: Decision) -> bool:
        """Ask one rule about one decision; True where values went."""
        settled, key = self._settled[decision.name], (decision.name, index)
        if index in settled or key in self.remarks:
            return False
        settled.add(index)
        rule, spares = self.stage.rules[index], self.stage.spares[index]
        ask = partial(rule.check, self.space, decision, self.stage.chip)
        if spares is not None and spares(self.space, decision, self.stage.chip):
            self.answers[key] = ask  # the same when all is settled: what changes it asks again
            return False
        finding = guarded(
            self.stage.specs[index],
            ask,
            len(decision.values),
            self.stage.disabled,
            trusted=self.stage.trusted[index],
        )
        if finding is None:
            return False
        self.answers[key] = lambda: finding
        if finding.keep.all():
            return False
        allowed = self.space.allowed[decision.name]
        gone = allowed & ~finding.keep
        if decision.name in self.protected:
            gone &= ~self.protected[decision.name]
        if not (allowed & ~gone).any():
            gone = self._rescue(index, decision, finding, allowed)
        if not gone.any():
            return False
        self._remove(index, decision, gone)
        return True

    def _remove(self, index: int, decision: Decision, gone: BoolColumn) -> None:
        """Take values away; what the joint rules say of the other decisions is open again."""
        self.space.remove(decision.name, gone)
        self.code[decision.name][gone] = index
        for name, settled in self._settled.items():
            if name != decision.name:
                settled.difference_update(self._joint)

    def _rescue(
        self, index: int, decision: Decision, finding: Finding, allowed: BoolColumn
    ) -> BoolColumn:
        """Nothing would be left: a soft rule is passed over, a hard one leaves the safest value."""
        rule, spec = self.stage.rules[index], self.stage.specs[index]
        if not rule.hard:
            text = f"{spec} would leave no value of {decision.name}: passed over"
            gone = np.zeros_like(allowed)
        else:
            left = np.flatnonzero(allowed)  # not one of them may fit by any measure
            gone = allowed.copy()
            gone[left[np.argmin(finding.violation()[left])]] = False
            text = f"{spec} rules out every value of {decision.name}: the safest one is left"
            self.infeasible = self.infeasible or text
        self.remarks[decision.name, index] = Remark(spec, decision.name, text)
        return gone
