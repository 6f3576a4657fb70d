"""What a plan's groups and runs are about."""

from __future__ import annotations

from tuner.bench.plan import Group, Plan
from tuner.oracle import problem_of, recipe_named
from tuner.problem import Problem
from tuner.runs import RunSpec
from tuner.workloads import resolve


def problem_in(plan: Plan, group: Group) -> Problem:
    """What a group is about; raises as :meth:`Problem.of` and :func:`tuner.oracle.problem_of`."""
    chip = plan.chip(group.chip)
    if group.space:
        return problem_of(recipe_named(group.space), chip)
    return Problem.of(resolve(group.workload), chip)


def spec_of(plan: Plan, strategy: str, arm: str, seed: int) -> RunSpec:
    return RunSpec(
        arm, strategy, seed, plan.trials, plan.repeats, plan.batch, plan.rules, plan.rule_files,
        plan.cost_model, plan.backend, plan.store_snapshot, plan.store, plan.meta,
    )  # fmt: skip
