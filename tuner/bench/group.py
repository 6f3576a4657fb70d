"""One group of a benchmark: every arm and seed of one workload on one chip, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pruner.rulesets import rule_set
from pruner.trial import TrialStage
from tuner.arms import ARMS
from tuner.bench import metrics
from tuner.bench.cost import pruning_cost
from tuner.bench.history import History, load
from tuner.bench.plan import CONTROL, Group, Plan
from tuner.bench.reference import Reference, build, kept_by_rules, node_validity
from tuner.measure import Memory
from tuner.problem import Problem
from tuner.runs import RunSpec, Shared, execute, run_name, task_stage
from tuner.search import Pool
from tuner.truth import BoolColumn, Truth, truth
from tuner.workloads import resolve

# run, measured, pruned, failed, best_us, finished
Report = Callable[[str, int, int, int, float, bool], None]


@dataclass
class GroupResult:
    """The cells of one group, its curves for the report, and wall times apart."""

    cells: list[dict[str, Any]] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)
    timings: list[dict[str, Any]] = field(default_factory=list)
    cost: dict[str, Any] = field(default_factory=dict)


def run_group(
    plan: Plan, group: Group, out: Path, resume: bool, report: Report, stopped: Callable[[], bool]
) -> GroupResult:
    """Run what is missing of a group and compute its cells; none where it is stopped before."""
    problem = Problem.of(resolve(group.workload), plan.chip(group.chip))
    problem.check_readable()
    shared, result = Shared(Memory()), GroupResult()
    for strategy, arm, seed in plan.runs():
        if stopped():
            break
        spec = spec_of(plan, strategy, arm, seed)
        started = time.perf_counter()
        _run(problem, spec, out, resume, shared, report, stopped)
        result.timings.append(
            {
                "run": run_name(problem, spec),
                "wall_s": round(time.perf_counter() - started, 3),
            }
        )
    if not stopped():
        _Cells(plan, problem, out).fill(result)
    return result


def spec_of(plan: Plan, strategy: str, arm: str, seed: int) -> RunSpec:
    return RunSpec(
        arm, strategy, seed, plan.trials, plan.repeats, plan.batch, plan.rules, plan.rule_files,
        plan.cost_model, plan.backend,
    )  # fmt: skip


def _run(
    problem: Problem,
    spec: RunSpec,
    out: Path,
    resume: bool,
    shared: Shared,
    report: Report,
    stopped: Callable[[], bool],
) -> None:
    name = run_name(problem, spec)
    execute(
        problem,
        spec,
        out / "runs" / f"{name}.jsonl",
        resume=resume,
        shared=shared,
        progress=lambda *state: report(name, *state),
        stopped=stopped,
    )


class _Cells:
    """From the logs of a group to its cells."""

    def __init__(self, plan: Plan, problem: Problem, out: Path) -> None:
        self.plan, self.problem = plan, problem
        self.histories = {
            key: load(out / "runs" / f"{run_name(problem, spec_of(plan, *key))}.jsonl")
            for key in plan.runs()
        }
        self.pools = {key: _pool(problem, h) for key, h in self.histories.items()}
        self.reference = self._reference()
        self.judged = {
            key: metrics.Judged(h, truth_in_order(problem, h, self.pools[key]))
            for key, h in self.histories.items()
        }

    def _reference(self) -> Reference:
        return build(self.problem, list(self.pools.values()), self.plan.seed)

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

    def _cell(
        self,
        strategy: str,
        arm: str,
        runs: list[tuple[str, str, int]],
        static: Mapping[str, float],
    ) -> dict[str, Any]:
        rows = []
        for key in runs:
            control = self.judged.get((strategy, CONTROL, key[2]))
            row = metrics.of_run(self.judged[key], control, self.reference.optimum_us)
            rows.append({**row, **static})
        notes = sorted({note for key in runs for note in self.histories[key].notes})
        return {
            "chip": self.problem.chip.name,
            "workload": self.problem.workload.name,
            "arm": arm,
            "strategy": strategy,
            "seeds": len(runs),
            "reference_optimum_us": metrics.as_json(self.reference.optimum_us),
            "reference_candidates": len(self.reference.pool),
            "space_size": sum(s.size for s in self.problem.sketches),
            **metrics.over_seeds(rows),
            "rules": self._rules(runs),
            "notes": notes,
        }

    def _static(self, arm_name: str) -> dict[str, float]:
        """The measures of what the task stage and the rules do to the whole space."""
        arm = ARMS[arm_name]
        rules = rule_set(self.plan.rules, self.plan.rule_files)
        kept = task_stage(self.problem, rules) if arm.task else None
        trial = TrialStage(rules.trial, None, self.problem.chip) if arm.rules else None
        keep = kept_by_rules(self.problem, self.reference, kept, trial)
        out = metrics.space(keep, self.reference.latency_us, self.reference.optimum_us)
        if kept is not None:
            out |= metrics.nodes(self._validity, [k.allowed for k in kept])
        return out

    @cached_property
    def _validity(self) -> list[dict[str, BoolColumn]]:
        """Which values are valid is a matter of the space: the arms share the answer."""
        return node_validity(self.problem, self.plan.seed)

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
            "strategy": key[0],
            "arm": key[1],
            "seed": key[2],
            "trial": [int(trials[i]) for i in improved],
            "virtual_s": [float(run.history.virtual_s[i]) for i in improved],
            "latency_us": [float(f"{incumbent[i]:.6g}") for i in improved],
            "end_virtual_s": run.history.end.virtual_s,
            "end_trial": int(run.history.measured.sum()),
        }


def _pool(problem: Problem, history: History) -> Pool:
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
