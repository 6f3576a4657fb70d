"""From the logs of a group to its cells: every measure of every arm and strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pruner.rulesets import rule_set
from pruner.task_result import TaskResult
from pruner.trial import TrialStage
from tuner.arms import ARMS
from tuner.bench import metrics
from tuner.bench.cost import pruning_cost
from tuner.bench.history import History, load
from tuner.bench.plan import CONTROL, Plan
from tuner.bench.reference import Reference, kept_by_rules
from tuner.bench.sampled import sample
from tuner.bench.specs import spec_of
from tuner.bench.whole import Whole
from tuner.feedback import stored
from tuner.oracle import Oracle
from tuner.problem import Problem
from tuner.runs import run_name, task_stage
from tuner.search import Pool
from tuner.truth import BoolColumn, Truth, truth

Key = tuple[str, str, int]  # strategy, arm, seed


@dataclass
class GroupResult:
    """The cells of one group, its curves for the report, and wall times apart."""

    cells: list[dict[str, Any]] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)
    timings: list[dict[str, Any]] = field(default_factory=list)
    cost: dict[str, Any] = field(default_factory=dict)


class Cells:
    """From the logs of a group to its cells."""

    def __init__(self, plan: Plan, problem: Problem, oracle: Oracle | None, out: Path) -> None:
        self.plan, self.problem = plan, problem
        self.histories = histories(plan, problem, out)
        self.pools = {key: pool_of(problem, h) for key, h in self.histories.items()}
        met = list(self.pools.values())
        self.reference: Reference = Whole.of(oracle) if oracle else sample(problem, met, plan.seed)
        self.optimum_us = self.reference.optimum_us
        self.judged = {
            key: metrics.Judged(h, truth_in_order(problem, h, self.pools[key]))
            for key, h in self.histories.items()
        }

    def fill(self, result: GroupResult) -> None:
        rules = rule_set(self.plan.rules, self.plan.rule_files)
        names = {"chip": self.problem.chip.name, "workload": self.problem.workload.name}
        result.cost = names | pruning_cost(self.problem, rules, self.reference)
        static = {arm: self._static(arm) for arm in self.plan.arms}
        for strategy in self.plan.strategies:
            for arm in self.plan.arms:
                seeds = range(self.plan.seed, self.plan.seed + self.plan.seeds)
                runs = [(strategy, arm, seed) for seed in seeds]
                result.cells.append(self._cell(strategy, arm, runs, static[arm]))
                result.curves += [self._curve(key) for key in runs]

    def _row(self, key: Key) -> dict[str, float]:
        control = self.judged.get((key[0], CONTROL, key[2]))
        return metrics.of_run(self.judged[key], control, self.optimum_us)

    def _about(self) -> dict[str, Any]:
        return {"reference": self.reference.kind, "reference_candidates": len(self.reference)}

    def _cell(
        self,
        strategy: str,
        arm: str,
        runs: list[tuple[str, str, int]],
        static: Mapping[str, float],
    ) -> dict[str, Any]:
        rows = [{**self._row(key), **static} for key in runs]
        notes = sorted({note for key in runs for note in self.histories[key].notes})
        return {
            "chip": self.problem.chip.name,
            "workload": self.problem.workload.name,
            "space": self.problem.space or None,
            "space_kind": self.problem.workload.space,
            "arm": arm,
            "strategy": strategy,
            "seeds": len(runs),
            **self._about(),
            "reference_optimum_us": metrics.as_json(self.optimum_us),
            "space_size": self.problem.size,
            **metrics.over_seeds(rows),
            "rules": self._rules(runs),
            "notes": notes,
        }

    def _static(self, arm_name: str) -> dict[str, float]:
        """The measures of what the task stage and the rules do to the whole space."""
        arm, keep = ARMS[arm_name], np.ones(len(self.reference), dtype=bool)
        if arm.rules:
            keep &= self._kept_by_rules
        if arm.task:
            keep &= self.reference.kept_by_task(self._task_stage)
        out = metrics.space(keep, self.reference.latency_us, self.optimum_us)
        if arm.task:
            out |= metrics.nodes(self._validity, [k.allowed for k in self._task_stage])
        return out

    @cached_property
    def _task_stage(self) -> list[TaskResult]:
        listed, _ = stored(self.problem, self.plan.store, self.plan.store_snapshot)
        return task_stage(self.problem, rule_set(self.plan.rules, self.plan.rule_files), listed)

    @cached_property
    def _kept_by_rules(self) -> BoolColumn:
        """The arms that have rules have the same ones."""
        rules = rule_set(self.plan.rules, self.plan.rule_files)
        return kept_by_rules(self.reference, TrialStage(rules.trial, None, self.problem.chip))

    @cached_property
    def _validity(self) -> list[dict[str, BoolColumn]]:
        """Which values are valid is a matter of the space: the arms share the answer."""
        return self.reference.node_validity()

    def _rules(self, runs: list[tuple[str, str, int]]) -> list[dict[str, Any]]:
        """What each rule pruned, summed over the seeds."""
        totals: dict[tuple[str, str], int] = {}
        for key in runs:
            for stage, counts in self.histories[key].rules_pruned.items():
                for rule, count in counts.items():
                    totals[stage, rule] = totals.get((stage, rule), 0) + count
        rows = [{"stage": s, "rule": r, "pruned": n} for (s, r), n in totals.items()]
        return sorted(rows, key=lambda row: (row["stage"], -row["pruned"], row["rule"]))

    def _curve(self, key: tuple[str, str, int]) -> dict[str, Any]:
        run = self.judged[key]
        incumbent = run.incumbent_us()
        improved = np.flatnonzero(incumbent < np.append(np.inf, incumbent[:-1]))
        trials = np.cumsum(run.history.measured)
        return {
            "chip": self.problem.chip.name,
            "workload": self.problem.workload.name,
            "space": self.problem.space or None,
            "strategy": key[0],
            "arm": key[1],
            "seed": key[2],
            "trial": [int(trials[i]) for i in improved],
            "virtual_s": [float(run.history.virtual_s[i]) for i in improved],
            "latency_us": [float(f"{incumbent[i]:.6g}") for i in improved],
            "end_virtual_s": run.history.end.virtual_s,
            "end_trial": int(run.history.measured.sum()),
        }


def histories(plan: Plan, problem: Problem, out: Path) -> dict[Key, History]:
    """The logs of a group's runs; ``LogError`` where one is unfinished."""
    names = {key: run_name(problem, spec_of(plan, *key)) for key in plan.runs()}
    return {key: load(out / "runs" / f"{name}.jsonl") for key, name in names.items()}


def pool_of(problem: Problem, history: History) -> Pool:
    """A history's candidates by sketch, in the order of the log within a sketch."""
    matrices = []
    for s, sketch in enumerate(problem.sketches):
        rows = [history.decisions[i] for i in np.flatnonzero(history.sketch == s)]
        matrices.append(np.array(rows, dtype=np.int64).reshape(len(rows), sketch.width))
    return Pool(tuple(matrices))


def truth_in_order(problem: Problem, history: History, pool: Pool) -> Truth:
    """The truth of a history's trials in the order of its log."""
    by_sketch = truth(problem, pool)
    order = np.argsort(history.sketch, kind="stable")
    place = np.argsort(order)
    return Truth(by_sketch.latency_us[place], by_sketch.rejects[place], by_sketch.failure[place])
