"""What a run delivers: the best schedule in forms that TVM takes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.schedule import Schedule

from traces import Trial
from tuner import spaces
from tuner.check import CheckReport, check_schedule, small_like
from tuner.problem import Problem

CHECKABLE_FLOPS = 5e8  # what the CPU runs serially in a few seconds
KEPT = 10  # records that go into TVM's database, best first


def deliver(problem: Problem, trials: list[Trial], out: Path) -> dict[str, Any]:
    """Write ``best.json``, ``best.py`` (TVMScript) and a MetaSchedule JSON database into ``out``.

    ``trials`` are those that were measured successfully.  The content of ``best.json`` comes back.
    """
    ranked = sorted(trials, key=lambda t: (t.measurement.mean_us if t.measurement else 0, t.index))
    taken = list(islice(_taken(problem, ranked), KEPT))
    best, schedule = taken[0]
    out.joinpath("best.py").write_text(schedule.mod.script() + "\n")
    content = {
        "chip": problem.chip.name,
        "workload": problem.workload.name,
        "candidate": best.candidate,
        "sketch": best.sketch,
        "decisions": best.decisions,
        "latency_us": best.measurement.mean_us if best.measurement else None,
        "trace": json.loads(_json(schedule.trace)),
    }
    out.joinpath("best.json").write_text(json.dumps(content, indent=1) + "\n")
    _database(problem, taken, out / "database")
    return content


def _taken(problem: Problem, trials: Iterable[Trial]) -> Iterator[tuple[Trial, Any]]:
    """Trials and their schedules.  The best of a run was replayed; of the others, which were
    measured from columns, TVM may refuse one, and it is left out.
    """
    for trial in trials:
        row = np.array(trial.decisions, dtype=np.int64)
        lowered = problem.lower(trial.sketch, row)
        if lowered.rejection is None:
            yield trial, lowered.schedule


def _json(trace: Any) -> str:
    """Numbers among a trace's attributes are TVM's own objects, which JSON does not know."""
    return json.dumps(trace.as_json(), default=lambda number: number.value)


def _database(problem: Problem, taken: list[tuple[Trial, Any]], folder: Path) -> None:
    """The best records, so that ``ms.tir_integration.compile_tir`` gives the best schedule back."""
    folder.mkdir(exist_ok=True)
    for stale in folder.iterdir():  # a resumed run writes its database anew, whole
        stale.unlink()
    database = ms.database.JSONDatabase(work_dir=str(folder))
    module = Schedule(problem.workload.prim_func()).mod
    workload = database.commit_workload(module)
    for trial, schedule in taken:
        seconds = [us * 1e-6 for us in trial.measurement.latencies_us] if trial.measurement else []
        record = ms.database.TuningRecord(
            schedule.trace,
            workload,
            seconds,
            spaces.target(problem.chip),
            ms.arg_info.ArgInfo.from_prim_func(module["main"]),
        )
        database.commit_tuning_record(record)


def check_values(problem: Problem, sketch: int, decisions: list[int]) -> str:
    """Whether the delivered sketch computes the right values, as one line."""
    found = check_report(problem, sketch, decisions)
    return f"not checked: {found}" if isinstance(found, str) else _said(found)


def check_report(problem: Problem, sketch: int, decisions: list[int]) -> CheckReport | str:
    """What running a candidate says of its values, or why it cannot be run.

    The schedule is carried over to a small shape of the same kind (factors shrink to divisors),
    compiled for the CPU with the intrinsics emulated, and held against numpy.  On a CPU it is run
    itself, as it was measured.
    """
    if problem.chip.backend == "cpu" and problem.workload.flops <= CHECKABLE_FLOPS:
        schedule = problem.lower(sketch, np.array(decisions, dtype=np.int64)).schedule
        return check_schedule(schedule, problem.workload, seed=0, emulate=False)
    shrunk = small_like(problem.workload)
    if shrunk.flops > CHECKABLE_FLOPS:
        return "a function of one's own cannot be shrunk, and this one takes too long"
    small = Problem.of(shrunk, problem.chip)
    if len(small.sketches) != len(problem.sketches):
        return "the small shape has another design space"
    twin = small.sketches[sketch]
    row = twin.repair(np.array([decisions], dtype=np.int64))[0]
    return check_schedule(twin.replay(row), small.workload, seed=0)


def _said(report: CheckReport) -> str:
    if not report.ok:
        return f"WRONG on {report.workload}: {report.problem}"
    return f"right on {report.workload}: largest error {report.max_error:.2g}"
