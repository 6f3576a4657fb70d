"""One group of a benchmark: every arm and seed of one workload on one chip, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tuner.bench.cells import Cells, GroupResult, Key
from tuner.bench.measured import Lap, MeasuredCells, wall_speedup
from tuner.bench.plan import CONTROL, Group, Plan
from tuner.bench.specs import problem_in, spec_of
from tuner.hardware import SIM
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
    real = plan.backend != SIM
    if not real:
        problem.check_readable()
    oracle = load(problem) if group.space else find(problem)
    shared, result = Shared(Memory()), GroupResult()
    laps: dict[Key, list[Lap]] = {}
    for strategy, arm, seed in plan.runs():
        if stopped():
            break
        spec = spec_of(plan, strategy, arm, seed)
        started = time.perf_counter()
        laps[strategy, arm, seed] = _run(problem, spec, out, resume, shared, report, stopped)
        timing = {
            "run": run_name(problem, spec),
            "wall_s": round(time.perf_counter() - started, 3),
        }
        if real:
            timing |= wall_speedup(laps, (strategy, arm, seed), (strategy, CONTROL, seed))
        result.timings.append(timing)
    if not stopped() and real:
        MeasuredCells(plan, problem, out).fill(result)
    elif not stopped():
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
) -> list[Lap]:
    """The wall-clock laps of the run; none where it goes on with an earlier attempt."""
    name = run_name(problem, spec)
    log = out / "runs" / f"{name}.jsonl"
    fresh, laps, started = not log.exists(), list[Lap](), time.perf_counter()

    def progress(measured: int, pruned: int, failed: int, best_us: float, finished: bool) -> None:
        laps.append(Lap(time.perf_counter() - started, measured, best_us))
        report(name, measured, pruned, failed, best_us, finished)

    execute(
        problem, spec, log, resume=resume, shared=shared, progress=progress, stopped=stopped
    )  # fmt: skip
    return laps if fresh else []
