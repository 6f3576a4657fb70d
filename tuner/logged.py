"""A candidate of a run's log, brought back: its problem, its decisions, its chip."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hwsim.chip import Chip
from hwsim.chips import chip_hash, load_chip
from traces import Header, LogError, Trial, read
from tuner.problem import Problem
from tuner.search import Pool
from tuner.workloads import resolve


@dataclass(frozen=True)
class Logged:
    """One trial of a log with what it takes to look at it again."""

    header: Header
    trial: Trial
    plan: dict[str, Any]
    problem: Problem

    @property
    def pool(self) -> Pool:
        """The candidate alone."""
        rows = [np.empty((0, s.width), dtype=np.int64) for s in self.problem.sketches]
        rows[self.trial.sketch] = np.array([self.trial.decisions], dtype=np.int64)
        return Pool(tuple(rows))

    @property
    def decisions(self) -> dict[str, int]:
        """The candidate's decisions by name."""
        names = self.problem.sketches[self.trial.sketch].names
        return dict(zip(names, self.trial.decisions, strict=True))


def logged(log: Path, wanted: str | None, chip_file: str | None = None) -> Logged:
    """The candidate whose hash begins with ``wanted``, or trial number ``wanted``; None: the best.

    Raises
    ------
    LogError
        No such log or candidate, several candidates, no successful measurement, or a chip that has
        changed since.
    """
    header, trials = _read(log)
    trial = _best(log, trials) if wanted is None else _named(log, trials, wanted)
    plan = _plan(log)
    workload, chip = resolve(_workload(plan, header)), _chip(plan, header, log, chip_file)
    return Logged(header, trial, plan, Problem.of(workload, chip))


def _read(log: Path) -> tuple[Header, list[Trial]]:
    records = read(log)
    header = next(records)
    assert isinstance(header, Header)
    return header, [r for r in records if isinstance(r, Trial)]


def _named(log: Path, trials: list[Trial], wanted: str) -> Trial:
    if wanted.isdigit() and int(wanted) < len(trials):
        return trials[int(wanted)]
    found = [t for t in trials if t.candidate.startswith(wanted)]
    if len(found) != 1:
        what = "no candidate" if not found else f"{len(found)} candidates"
        raise LogError(
            f"{log}: {what} begin with {wanted!r}; expected a hash or a trial number below"
            f" {len(trials)}"
        )
    return found[0]


def _best(log: Path, trials: list[Trial]) -> Trial:
    worked = [t for t in trials if t.measurement is not None and t.measurement.failure is None]
    if not worked:
        raise LogError(f"{log}: no candidate was measured successfully; name one")
    return min(worked, key=lambda t: (t.measurement.mean_us if t.measurement else 0.0, t.index))


def _plan(log: Path) -> dict[str, Any]:
    """The plan of the folder that the log lies in; empty where there is none."""
    path = log.resolve().parent.parent / "plan.json"
    try:
        plan = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return plan if isinstance(plan, dict) else {}


def _workload(plan: dict[str, Any], header: Header) -> str:
    """The workload as the user gave it (a ``.py`` file has a path), else its name."""
    for given in plan.get("workloads", []):
        if resolve(given).name == header.workload:
            return str(given)
    return header.workload


def _chip(plan: dict[str, Any], header: Header, log: Path, chip_file: str | None) -> Chip:
    given = [chip_file] if chip_file else plan.get("chips", [header.chip])
    chips = [c for c in map(load_chip, given) if c.name == header.chip]
    if not chips:
        raise LogError(f"{log}: is of chip {header.chip}; give its file with --chip")
    if chip_hash(chips[0]) != header.chip_hash:
        raise LogError(
            f"{log}: chip {header.chip} has changed since: hash {chip_hash(chips[0])}, the log has"
            f" {header.chip_hash}"
        )
    return chips[0]
