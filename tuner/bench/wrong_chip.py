"""A chip file that is wrong in one number: what the rules then lose, and which of them is brittle.

The pruner reads the wrong chip, the truth is that of the right one.  What is asked is whether the
two stages' rules still keep a candidate near the optimum once the run's best is the optimum itself,
when the bounds are strictest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.rulesets import Rules
from pruner.task_result import TaskResult
from pruner.task_stage import TaskStage
from pruner.trial import TrialStage, follow
from tuner.oracle import Oracle

NEAR = 0.02  # a run that ends this close to the optimum has lost nothing
_NOT_READ = ("bench", "noise", "rules")  # of the bench; tables of lengths, no numbers of the chip


def wrong_chips(chip: Chip, share: float) -> Iterator[tuple[str, Chip | None]]:
    """Every number of the chip off by ``share`` up and down: its path and the chip, or ``None``
    where no such chip is possible.
    """
    whole = msgspec.to_builtins(chip)
    for path in _numbers(whole):
        for factor in (1 + share, 1 - share):
            yield f"{'.'.join(path)} x {factor:g}", _with(chip, whole, path, factor)


def _numbers(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, inner in value.items():
        if isinstance(inner, dict) and key not in _NOT_READ:
            yield from _numbers(inner, (*path, key))
        elif isinstance(inner, int | float) and not isinstance(inner, bool) and inner:
            yield (*path, key)


def _with(chip: Chip, whole: dict[str, Any], path: tuple[str, ...], factor: float) -> Chip | None:
    changed = msgspec.msgpack.decode(msgspec.msgpack.encode(whole))
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    before = inner[path[-1]]
    inner[path[-1]] = round(before * factor) if isinstance(before, int) else before * factor
    try:
        return msgspec.convert(changed, type(chip))
    except msgspec.ValidationError:
        return None


@dataclass(frozen=True)
class Kept:
    """The best candidate left, over the optimum - 1 (``inf``: none of the near ones), and how many
    near ones each rule removed.
    """

    regret: float
    removed: dict[str, int]


class NearOptimum:
    """A space's candidates within ``NEAR`` of its optimum, ready to be judged again and again."""

    def __init__(self, oracle: Oracle, rules: Rules) -> None:
        self.problem, self.rules, self._oracle = oracle.problem, rules, oracle
        self._optimum_us = oracle.optimum_us
        near = np.flatnonzero(oracle.near(NEAR))
        self._near = near
        self.latency_us = oracle.latency_us[near]
        self.table: KernelTable = self.problem.kernels(oracle.pool_of(near))

    def judged_by(self, chip: Chip) -> Kept:
        """What the rules leave when they believe in ``chip``."""
        stage = TaskStage(self.rules.task, chip, self.rules.name)
        results = [stage.run(task) for task in self.problem.tasks]
        alive = self._oracle.allowed([r.allowed for r in results])[self._near]
        rules = [follow(rule, self._optimum_us) for rule in self.rules.trial]
        trial = TrialStage(rules, None, chip)
        names = [str(i) for i in range(self.table.n_candidates)]
        judgement = trial.judge(self.table, names, rescue=False)
        left = self.latency_us[alive & (judgement.code < 0)]
        removed = Counter(judgement.pruned_by()) + _gone(results, int((~alive).sum()))
        return Kept(float(left.min(initial=np.inf)) / self._optimum_us - 1, dict(removed))


def _gone(results: list[TaskResult], lost: int) -> Counter[str]:
    """The task rules that removed values, where near candidates went with them."""
    if not lost:
        return Counter()
    rules = {r.rules[c] for r in results for code in r.code.values() for c in code[code >= 0]}
    return Counter(dict.fromkeys(rules, lost))
