"""One group of a benchmark: every arm and seed of one workload on one chip, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tuner.bench.cells import Cells, GroupResult
from tuner.bench.plan import Group, Plan
from tuner.bench.specs import problem_in, spec_of
from tuner.measure import Memory
from tuner.oracle import find, load
from tuner.problem import Problem
from tuner.runs import RunSpec, Shared, execute, run_name

# run, measured, pruned, failed, best_us, finished
Report = Callable[[str, int, int, int, float, bool], None]


def run_group(
    plan: Plan, group: Group, out: Path, resume: bool, report: Report, stopped: Callable[[], bool]
) -> GroupResult:
    """Run what is missing of a group and compute its cells; none where it is stopped before."""
    problem = problem_in(plan, group)
    problem.check_readable()
    oracle = load(problem) if group.space else find(problem)
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
        Cells(plan, problem, oracle, out).fill(result)
    return result


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
