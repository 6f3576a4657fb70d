"""The report of a folder: of a benchmark, of ``tune``, or of logs alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup

from traces import End, Header, LogError, TaskPrune, Trial, read
from tuner.bench.saved import FILE, ResultsError, read_results
from tuner.logged import logged_run
from tuner.report import write_report
from tuner.report.movement import progress, projection, reliability, waterfall
from tuner.report.tree import sketches_of, tree

FIDELITY = ("dataset", "chip", "measure", "n", "mape", "spearman", "optimum_rank_share",
            "predicted_best_slowdown")  # fmt: skip


class _Run(msgspec.Struct, frozen=True):
    """A log as the report wants it."""

    path: Path
    header: Header
    trials: list[Trial]
    removed: list[TaskPrune]
    end: End | None

    @property
    def group(self) -> tuple[str, str, str]:
        return self.header.chip, self.header.workload, self.header.strategy


def report_folder(folder: Path, fidelity: Path | None = None) -> tuple[Path, list[str]]:
    """Write ``report.html`` into ``folder``, and say what is missing from it.

    Raises
    ------
    LogError, ResultsError
        The folder has no log, or one that is damaged; ``fidelity`` is no output of that command.
    """
    runs = [_run(path) for path in _logs(folder)]
    results: dict[str, Any] = {"header": {}, "cells": []}
    if (folder / FILE).exists():
        saved = read_results(folder)
        results = {"header": saved.header, "cells": list(saved.cells.values())}
    missing: list[str] = []
    extra = {
        "spaces": list(_spaces(runs, missing)),
        "runs": [_view(run) for run in _shown(runs)],
        "fidelity": _fidelity(fidelity) if fidelity else None,
    }
    return write_report(folder, results, [_curve(r) for r in runs if r.end], extra), missing


def _logs(folder: Path) -> list[Path]:
    found = sorted((*folder.glob("*.jsonl"), *folder.glob("runs/*.jsonl")))
    if not found:
        raise LogError(f"{folder}: holds no log; expected a folder of bench or tune, or *.jsonl")
    return found


def _run(path: Path) -> _Run:
    records = list(read(path))
    first, last = records[0], records[-1]
    assert isinstance(first, Header)
    return _Run(
        path,
        first,
        [r for r in records if isinstance(r, Trial)],
        [r for r in records if isinstance(r, TaskPrune)],
        last if isinstance(last, End) else None,
    )


def _shown(runs: list[_Run]) -> list[_Run]:
    """The first seed of each chip, workload, strategy and arm that has candidates."""
    first: dict[tuple[str, ...], _Run] = {}
    for run in sorted(runs, key=lambda r: r.header.seed):
        if run.trials:
            first.setdefault((*run.group, run.header.arm), run)
    return list(first.values())


def _view(run: _Run) -> dict[str, Any]:
    h, measured = run.header, sum(t.measurement is not None for t in run.trials)
    promised = reliability(run.trials)
    best = "nothing that works" if not run.end or run.end.best_us is None else None
    return {
        "title": " · ".join((*run.group, h.arm, f"seed {h.seed}")),
        "summary": f"{len(run.trials)} candidates offered, {measured} measured; best "
        + (best or f"{run.end.best_us:.6g} us" if run.end else "unknown: interrupted"),
        "progress": Markup(progress(run.trials)),
        "projection": Markup(projection(run.trials)),
        "waterfall": Markup(waterfall(run.trials)),
        "reliability": Markup(promised) if promised else None,
    }


def _spaces(runs: list[_Run], missing: list[str]) -> Iterable[dict[str, Any]]:
    """The spaces of the runs, generated again; of the arms the one whose task stage took most."""
    by_space: dict[tuple[str, str], _Run] = {}
    for run in runs:
        key = run.header.chip, run.header.workload
        if key not in by_space or len(run.removed) > len(by_space[key].removed):
            by_space[key] = run
    for key, run in by_space.items():
        try:
            problem = logged_run(run.path).problem
        except ValueError as error:  # a chip or program that has changed or moved
            missing.append(f"how schedules are generated: {error}")
            continue
        yield {
            "title": " · ".join(key),
            "tree": Markup(tree(problem, run.removed)),
            "sketches": sketches_of(problem, run.removed),
        }


def _curve(run: _Run) -> dict[str, Any]:
    """The steps of the best so far, as measured."""
    from tuner.replay import replay

    steps, h = replay(run.path).steps, run.header
    assert run.end is not None
    return {
        "chip": h.chip, "workload": h.workload, "strategy": h.strategy, "arm": h.arm,
        "seed": h.seed,
        "trial": [s.measured for s in steps],
        "virtual_s": [s.virtual_s for s in steps],
        "latency_us": [s.best_us for s in steps],
        "end_virtual_s": run.end.virtual_s,
        "end_trial": run.end.measured,
    }  # fmt: skip


def _fidelity(path: Path) -> dict[str, Any]:
    """The table of ``prunelab fidelity --format json``."""
    try:
        datasets = json.loads(path.read_bytes())["datasets"]
        rows = [[_cell(entry.get(name)) for name in FIDELITY] for entry in datasets]
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ResultsError(f"{path}: expected the output of fidelity --format json") from None
    return {"columns": FIDELITY, "rows": rows}


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
