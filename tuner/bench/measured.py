"""The measures of a benchmark on real hardware: from logs alone, since nobody knows the truth.

What was not measured is unknown, so that measures which need its latency are left out; the optimum
is the best that any run of the group measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hwsim.result import Failure
from tuner.bench import metrics
from tuner.bench.cells import Cells, GroupResult, Key, histories
from tuner.bench.history import History
from tuner.bench.plan import Plan
from tuner.problem import Problem
from tuner.truth import Truth

# Measures over what pruning skipped: they take the latency of what nobody measured.
UNKNOWN = ("pruning_rate_above_verifier", "worthless_recall", "false_prune_rate")


def judged(history: History) -> metrics.Judged:
    """A history with its measurements for truth, ``inf`` where there is none."""
    latency = np.where(np.isnan(history.mean_us), np.inf, history.mean_us)
    n = len(latency)
    return metrics.Judged(history, Truth(latency, np.zeros(n, bool), np.full(n, int(Failure.ok))))


class MeasuredCells(Cells):
    """The cells of a group on a real chip, of which there is no simulated truth."""

    def __init__(self, plan: Plan, problem: Problem, out: Path) -> None:
        self.plan, self.problem = plan, problem
        self.histories = histories(plan, problem, out)
        self.judged = {key: judged(h) for key, h in self.histories.items()}
        self.optimum_us = min((run.best_us for run in self.judged.values()), default=np.inf)

    def fill(self, result: GroupResult) -> None:
        """The cells and curves; what pruning does to the whole space is not known."""
        seeds = range(self.plan.seed, self.plan.seed + self.plan.seeds)
        for strategy in self.plan.strategies:
            for arm in self.plan.arms:
                runs = [(strategy, arm, seed) for seed in seeds]
                result.cells.append(self._cell(strategy, arm, runs, {}))
                result.curves += [self._curve(key) for key in runs]

    def _row(self, key: Key) -> dict[str, float]:
        return {k: v for k, v in super()._row(key).items() if k not in UNKNOWN}

    def _about(self) -> dict[str, Any]:
        met = {c for h in self.histories.values() for c in h.candidates}
        return {"reference": "measured", "reference_candidates": len(met)}


@dataclass(frozen=True)
class Lap:
    """Wall-clock seconds of a run after a round, and how it stood."""

    wall_s: float
    measured: int
    best_us: float


def wall_speedup(laps: Mapping[Key, list[Lap]], key: Key, control: Key) -> dict[str, Any]:
    """Wall seconds until a run and its control are at the control's final best (within 1 %).

    ``wall_speedup`` is the quotient; None where the run never comes so far, or either was resumed.
    """
    if not laps.get(key) or not laps.get(control):
        return {"wall_s_to_best": None, "control_wall_s_to_best": None, "wall_speedup": None}
    target_us = laps[control][-1].best_us * (1 + metrics.CONVERGED)
    own, theirs = (_reached(laps[k], target_us) for k in (key, control))
    speedup = None if own is None or theirs is None else round(theirs / own, 3)
    return {
        "wall_s_to_best": own,
        "control_wall_s_to_best": theirs,
        "wall_speedup": speedup,
    }


def _reached(laps: list[Lap], target_us: float) -> float | None:
    return next((round(lap.wall_s, 3) for lap in laps if lap.best_us <= target_us), None)
