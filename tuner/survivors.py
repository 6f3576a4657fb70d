"""The task stage never takes the last correct schedule of a space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pruner.rulesets import Rules
from pruner.task_result import Remark, TaskResult
from pruner.trial import TrialStage
from tuner.problem import Problem
from tuner.search import Pool

TRIES, SAMPLE = 8, 512  # random candidates a sketch are looked at, that many times at most

REMARK = "soft rules would leave no candidate that the limits let pass: passed over"


def soft_rules_took(results: Sequence[TaskResult]) -> bool:
    """Whether a rule that is no limit removed a value of any sketch."""
    return any(
        not result.hard[rule]
        for result in results
        for code in result.code.values()
        for rule in np.unique(code[code >= 0])
    )


def some_work(problem: Problem, results: Sequence[TaskResult], rules: Rules) -> bool:
    """Whether some candidate of what is left exceeds no limit; True where that costs replays."""
    if not problem.cheap:
        return True
    limits = TrialStage([r for r in rules.trial if r.hard], None, problem.chip)
    rng = np.random.default_rng(0)
    for _ in range(TRIES):
        pool = Pool(tuple(_sample(problem, i, r, rng) for i, r in enumerate(results)))
        table = problem.kernels(pool)
        keep = limits.judge(table, [""] * table.n_candidates, rescue=False).keep
        if (keep & ~problem.rejects(table)).any():
            return True
    return False


def _sample(
    problem: Problem, sketch: int, result: TaskResult, rng: np.random.Generator
) -> np.ndarray:
    rows = problem.sketches[sketch].sample(rng, SAMPLE)
    for d in problem.sketches[sketch].decisions:
        options = d.options()
        if d.name in result.allowed:
            options = options[result.allowed[d.name]]
        rows[:, d.start : d.stop] = options[rng.integers(len(options), size=SAMPLE)]
    return rows


def remarked(results: Sequence[TaskResult]) -> list[TaskResult]:
    """The results with a remark that soft rules were passed over."""
    return [replace(r, remarks=(*r.remarks, Remark("", "", REMARK))) for r in results]
