"""What a rule set loses of the spaces that were measured whole, and which of its rules loses it.

``python -m tuner.bench.losses [SPACE ...]`` holds ``default`` and ``as-described`` against the
oracles, then each rule that ``as-described`` has beyond ``default``, alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import numpy as np

from pruner.rule import Rule
from pruner.rulesets import rule_set
from pruner.spec import print_rule
from pruner.task import TaskRule
from pruner.task_stage import TaskStage
from pruner.trial import TrialStage
from tuner.oracle import Oracle, catalogue, load

_CHUNK = 4096


def regret(oracle: Oracle, task: Sequence[TaskRule], trial: Sequence[Rule]) -> float:
    """Best that the rules leave over the optimum - 1, exactly; ``inf`` where nothing is left.

    Rules that follow the best latency are told the optimum, when they are strictest.  Candidates
    are asked about from the best one on, until one is kept; so rules that judge a candidate by its
    company are not for this.
    """
    problem = oracle.problem
    before = TaskStage(task, problem.chip)
    allowed = oracle.allowed([before.run(task).allowed for task in problem.tasks])
    stage = TrialStage(trial, None, problem.chip)
    best = problem.kernels(oracle.pool_of(np.array([oracle.best])))
    stage.observe(best, ["best"], [oracle.optimum_us])
    ranks = np.flatnonzero(oracle.valid & allowed)
    order = ranks[np.argsort(oracle.latency_us[ranks], kind="stable")]
    for first in range(0, len(order), _CHUNK):
        part = np.sort(order[first : first + _CHUNK])
        table, readable = problem.read(oracle.pool_of(part))
        judged = stage.judge(table, [""] * table.n_candidates, rescue=False)
        kept = part[readable][judged.code < 0]
        if len(kept):
            return float(oracle.latency_us[kept].min()) / oracle.optimum_us - 1
    return float("inf")


def losses(oracle: Oracle) -> tuple[float, float, dict[str, float]]:
    """Regret of ``default``, of ``as-described``, and of each rule that only the latter has."""
    safe, described = rule_set("default"), rule_set("as-described")
    lost_safe, lost = (regret(oracle, rules.task, rules.trial) for rules in (safe, described))
    task = [(rule,) for rule in described.task if rule not in safe.task]
    trial = [(rule,) for rule in described.trial if rule not in safe.trial]
    alone = {print_rule(*rule): regret(oracle, rule, ()) for rule in task}
    alone |= {print_rule(*rule): regret(oracle, (), rule) for rule in trial}
    return lost_safe, lost, {rule: own for rule, own in alone.items() if own}


def table(names: Iterable[str]) -> Iterable[str]:
    """Lines of Markdown."""
    yield "| space | `default` | `as-described` | rules that lose it, each alone |"
    yield "|---|---:|---:|---|"
    for name in names:
        safe, described, alone = losses(load(catalogue()[name]))
        guilty = ", ".join(f"`{rule}` {_percent(lost)}" for rule, lost in alone.items())
        yield f"| {name} | {_percent(safe)} | {_percent(described)} | {guilty or '-'} |"


def _percent(value: float) -> str:
    return "everything" if np.isinf(value) else f"{value:.2%}" if value else "0"


if __name__ == "__main__":
    for line in table(sys.argv[1:] or list(catalogue())):
        print(line, flush=True)
