"""What tuning a network gave: a row a task, the whole, and each task's schedule."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec

from traces import Trial, read
from tuner.bench.plan import file_name
from tuner.defaults import fastest_default
from tuner.deliver import deliver
from tuner.networks.attainable import attainable_us, launch_us
from tuner.networks.network import Network, Untuned
from tuner.networks.tuning import NetworkPlan, TaskRun
from tuner.problem import Problem

FILE = "network.json"
_SUMS = ("default_us", "tuned_us", "attainable_us", "launch_us")


def write_network(
    out: Path, plan: NetworkPlan, network: Network, runs: list[TaskRun], untuned: list[Untuned]
) -> dict[str, Any]:
    """Deliver each task's best schedule into ``out/tasks`` and write ``out/network.json``, whose
    content comes back.
    """
    rows = [_row(out, plan, run) for run in runs]
    content = {
        "header": {**msgspec.to_builtins(plan), "gmacs": network.flops / 2e9},
        "tasks": rows,
        "untuned": [{"name": u.name, "count": u.count, "reason": u.reason} for u in untuned],
        "total": total(rows),
    }
    (out / FILE).write_text(json.dumps(content, indent=1) + "\n")
    return content


def total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Weighted sums over the tasks that have both a default and a tuned latency.

    ``speedup`` is the sum of the default over that of the tuned latencies, ``attainable_share`` the
    sum of the bounds over that of the tuned latencies, ``launch_share`` that of the launches.
    """
    whole = [r for r in rows if None not in (r["default_us"], r["tuned_us"])]
    sums = {key: sum(r["weight"] * r[key] for r in whole) for key in _SUMS}
    return {
        "tasks": len(whole),
        "left_out": len(rows) - len(whole),
        **{key: _short(value) for key, value in sums.items()},
        **_ratios(**sums),
        **{key: sum(r[key] for r in rows) for key in ("measured", "pruned", "failed")},
        "virtual_s": _short(sum(r["virtual_s"] for r in rows)),
    }


def _row(out: Path, plan: NetworkPlan, run: TaskRun) -> dict[str, Any]:
    problem, tally = run.prepared.problem, run.loop.tally
    workload, worked = problem.workload, _worked(run)
    known = {t.candidate: t.measurement for t in worked if t.measurement is not None}
    default = fastest_default(problem, known, plan.repeats, plan.seed)
    found = {
        "default_us": _short(default.latency_us) if default else None,
        "tuned_us": _short(tally.best_us),
        "attainable_us": _short(attainable_us(workload, problem.chip)),
        "launch_us": _short(launch_us(problem.chip)),
    }
    return {
        "workload": workload.name,
        "weight": run.prepared.task.weight,
        **found,
        **_ratios(**found),
        "default_side": default.side if default else None,
        "measured": tally.measured,
        "pruned": tally.pruned,
        "failed": tally.failed,
        "ended": tally.reason,
        "virtual_s": _short(tally.virtual_s),
        "log": str(run.log.relative_to(out)),
        "schedule": _deliver(out, problem, worked),
    }


def _ratios(
    default_us: float | None,
    tuned_us: float | None,
    attainable_us: float | None,
    launch_us: float | None,
) -> dict[str, float | None]:
    if not default_us or not tuned_us or not attainable_us or not launch_us:
        return {"speedup": None, "attainable_share": None, "launch_share": None}
    return {
        "speedup": _short(default_us / tuned_us),
        "attainable_share": _short(attainable_us / tuned_us),
        "launch_share": _short(launch_us / tuned_us),
    }


def _worked(run: TaskRun) -> list[Trial]:
    """The trials that were measured successfully."""
    trials = [r for r in read(run.log) if isinstance(r, Trial)]
    return [t for t in trials if t.measurement is not None and t.measurement.failure is None]


def _deliver(out: Path, problem: Problem, worked: list[Trial]) -> str | None:
    """The file of the best schedule below ``out``; None where no candidate worked."""
    if not worked:
        return None
    folder = out / "tasks" / file_name(problem.workload.name)
    folder.mkdir(parents=True, exist_ok=True)
    deliver(problem, worked, folder)
    return str((folder / "best.py").relative_to(out))


def _short(value: float) -> float | None:
    """Six digits; null for what is infinite."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
