"""Two runs, or two benchmarks, side by side, and whether the second is worse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tuner.bench.drift import Difference, header_differences
from tuner.bench.history import History, load
from tuner.bench.measures import direction
from tuner.bench.saved import FILE, Key, ResultsError, Saved, read_results

CONVERGED = 0.01  # of A's best: where a run has converged, as in the benchmark
SHOWN = (
    "best_us",
    "run_regret",
    "space_regret",
    "false_prune_rate",
    "space_false_prune_rate",
    "convergence_speedup_time",
    "convergence_speedup_trials",
    "task_prune_rate",
    "pruning_rate",
    "pruning_rate_above_verifier",
    "worthless_recall",
    "failed",
    "virtual_s",
)
# A change beyond the bound is a regression: relative to A for latencies, times and speed-ups,
# a difference of shares for the others.
GUARDED_RELATIVE = (
    "best_us",
    "convergence_speedup_time",
    "convergence_speedup_trials",
    "virtual_s_to_best",
    "measured_to_best",
)
GUARDED_SHARES = ("run_regret", "space_regret", "false_prune_rate", "space_false_prune_rate")


@dataclass(frozen=True)
class Row:
    """One measure of both sides, None where a side has none."""

    what: str
    a: float | None
    b: float | None
    regression: bool = False


@dataclass(frozen=True)
class Section:
    """What is held against each other: a cell of two benchmarks, or two runs."""

    title: str
    rows: list[Row]
    rules: list[Row]  # what each rule pruned


@dataclass(frozen=True)
class Comparison:
    """``differences``: what the headers say differently; ``only_a`` and ``only_b`` name cells that
    the other side does not have.
    """

    bound: float
    differences: list[Difference]
    sections: list[Section]
    only_a: list[str]
    only_b: list[str]

    @property
    def regressed(self) -> bool:
        """Whether B is worse than A beyond the bound in any guarded measure."""
        return any(row.regression for section in self.sections for row in section.rows)


def compare(a: Path, b: Path, bound: float) -> Comparison:
    """Compare two logs, or two folders or ``results.json`` of a benchmark.

    Raises
    ------
    ResultsError, LogError
        One cannot be read, is unfinished, or both have nothing in common.
    """
    logs = [_log(path) for path in (a, b)]
    if logs[0] is not None and logs[1] is not None:
        return _runs(logs[0], logs[1], bound)
    if logs[0] is not None or logs[1] is not None:
        raise ResultsError(f"{a}, {b}: expected two runs or two benchmarks")
    return _benchmarks(read_results(a), read_results(b), bound)


def _log(path: Path) -> Path | None:
    """The log that a path stands for: itself, or the only one of a folder of ``tune``."""
    if path.suffix == ".jsonl":
        return path
    if not path.is_dir() or (path / FILE).exists():
        return None
    logs = sorted((path / "runs").glob("*.jsonl"))
    if len(logs) != 1:
        raise ResultsError(f"{path}: expected {FILE} or one log in runs/, there are {len(logs)}")
    return logs[0]


def _benchmarks(a: Saved, b: Saved, bound: float) -> Comparison:
    shared = [key for key in a.cells if key in b.cells]
    if not shared:
        raise ResultsError(f"{a.path}, {b.path}: no chip, workload, strategy and arm in common")
    return Comparison(
        bound,
        list(header_differences(a.header, b.header)),
        [_section(key, a.cells[key], b.cells[key], bound) for key in shared],
        ["  ".join(key) for key in a.cells if key not in b.cells],
        ["  ".join(key) for key in b.cells if key not in a.cells],
    )


def _section(key: Key, a: Mapping[str, Any], b: Mapping[str, Any], bound: float) -> Section:
    rows = _rows(_medians(a), _medians(b), bound)
    return Section("  ".join(key), rows, _blame(_pruned_in(a), _pruned_in(b)))


def _medians(cell: Mapping[str, Any]) -> dict[str, float | None]:
    return {name: _median(cell, name) for name in SHOWN}


def _pruned_in(cell: Mapping[str, Any]) -> dict[str, float]:
    return {f"{r['stage']} {r['rule']}": float(r["pruned"]) for r in cell.get("rules", [])}


def _median(cell: Mapping[str, Any], name: str) -> float | None:
    value = cell.get(name)
    found = value.get("median") if isinstance(value, dict) else value
    return float(found) if isinstance(found, int | float) else None


def _runs(a: Path, b: Path, bound: float) -> Comparison:
    ours, other = load(a), load(b)
    for name in ("chip", "workload"):
        names = getattr(ours.header, name), getattr(other.header, name)
        if names[0] != names[1]:
            raise ResultsError(f"{a}, {b}: runs of {name} {names[0]} and {names[1]}, expected one")
    target_us = (ours.end.best_us or float("inf")) * (1 + CONVERGED)
    rows = _rows(_of_log(ours, target_us), _of_log(other, target_us), bound)
    title = f"{ours.header.chip}  {ours.header.workload}"
    section = Section(title, rows, _blame(_pruned_by(ours), _pruned_by(other)))
    headers = msgspec.to_builtins(ours.header), msgspec.to_builtins(other.header)
    return Comparison(bound, list(header_differences(*headers)), [section], [], [])


def _of_log(run: History, target_us: float) -> dict[str, float | None]:
    """What a log alone says; latencies are means of what was measured, noise included."""
    reached = run.reaches(run.incumbent_us(), target_us)
    offered = max(1, len(run.mean_us))
    return {
        "best_us": run.end.best_us,
        "virtual_s_to_best": reached[0],
        "measured_to_best": float(reached[1]),
        "offered": float(len(run.mean_us)),
        "measured": float(run.measured.sum()),
        "failed": float(run.end.failed),
        "pruning_rate": float(run.pruned.sum()) / offered,
        "rejected": float(run.rejected.sum()),
        "virtual_s": run.end.virtual_s,
    }


def _pruned_by(run: History) -> dict[str, float]:
    stages = run.rules_pruned.items()
    return {f"{stage} {rule}": float(n) for stage, counts in stages for rule, n in counts.items()}


def _rows(a: Mapping[str, float | None], b: Mapping[str, float | None], bound: float) -> list[Row]:
    names = [n for n in a if a[n] is not None or b.get(n) is not None]
    return [Row(n, a[n], b[n], regressed(n, a[n], b[n], bound)) for n in names]


def _blame(a: Mapping[str, float], b: Mapping[str, float]) -> list[Row]:
    return [Row(rule, a.get(rule, 0.0), b.get(rule, 0.0)) for rule in dict.fromkeys((*a, *b))]


def regressed(name: str, a: float | None, b: float | None, bound: float) -> bool:
    """Whether a guarded measure is worse in B than in A beyond the bound."""
    if name not in GUARDED_RELATIVE + GUARDED_SHARES or a is None:
        return False
    if b is None:  # B has nothing that works, or nothing that can be held against a control
        return name in ("best_us", "space_regret")
    sense = -1 if name.endswith("_to_best") else direction(name)
    loss = sense * (a - b)
    return loss > bound * (abs(a) if name in GUARDED_RELATIVE else 1.0) + 1e-12
