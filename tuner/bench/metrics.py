"""The measures of ``docs/metrics.md``: from run logs and simulated truth to numbers."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.bench.history import History
from tuner.bench.model_quality import model_quality
from tuner.truth import BoolColumn, FloatColumn, Truth

NEAR = 0.05  # a candidate this close to the optimum is one that pruning must not lose
CONVERGED = 0.01  # an incumbent this close to the optimum, or to the control's best, has converged
AGAINST_CONTROL = (
    "versus_none",
    "convergence_speedup_time",
    "convergence_speedup_trials",
    "unconverged",
)


@dataclass(frozen=True)
class Judged:
    """A run's history and the truth of its trials, ``(n,)`` each."""

    history: History
    truth: Truth

    @property
    def best_us(self) -> float:
        """Truth of the run's best measured candidate, ``inf`` where nothing worked."""
        incumbents = self.history.incumbents()
        if not len(incumbents) or incumbents[-1] < 0:
            return float("inf")
        return float(self.truth.latency_us[incumbents[-1]])

    def incumbent_us(self) -> FloatColumn:
        """Truth of the incumbent after each trial, ``(n,)``."""
        index = self.history.incumbents()
        latency = np.append(self.truth.latency_us, np.inf)
        return np.asarray(latency[index])  # -1 takes the appended inf

    def reaches(self, target_us: float) -> tuple[float, int, bool]:
        """As :meth:`History.reaches`, for the truth of the incumbent."""
        return self.history.reaches(self.incumbent_us(), target_us)


def of_run(run: Judged, control: Judged | None, optimum_us: float) -> dict[str, float]:
    """The measures of one run; those against the control only where there is one."""
    h, latency = run.history, run.truth.latency_us
    offered = max(1, len(h.mean_us))
    near = _near(latency, optimum_us)
    worthless = _worthless(run)
    out = {
        "best_us": run.best_us,
        "run_regret": run.best_us / optimum_us - 1,
        "offered": float(len(h.mean_us)),
        "measured": float(h.measured.sum()),
        "failed": float(np.isinf(h.mean_us).sum()),
        "rejected": float(h.rejected.sum()),
        "virtual_s": h.end.virtual_s,
        "task_prune_rate": 1 - h.nodes_after / h.nodes_before if h.nodes_before else 0.0,
        "pruning_rate": h.pruned.sum() / offered,
        "pruning_rate_above_verifier": (h.pruned & ~run.truth.rejects).sum() / offered,
        "worthless_recall": _share(h.pruned, worthless),
        "worthless_recall_above_verifier": _share(h.pruned, worthless & ~run.truth.rejects),
        "false_prune_rate": _share(h.pruned, near),
        "trials_to_1pct": _trials_to(run, optimum_us * (1 + CONVERGED)),
        **model_quality(h),
    }
    if control is not None:
        out |= _against(run, control)
    return {key: float(value) for key, value in out.items()}


def _trials_to(run: Judged, target_us: float) -> float:
    """Measurements until the incumbent is at or below a target, ``inf`` where it never is."""
    _, trials, reached = run.reaches(target_us)
    return float(trials) if reached else float("inf")


def _worthless(run: Judged) -> BoolColumn:
    """Which offered candidates fail, or are truly slower than the best measured before them."""
    before = np.append(np.inf, run.incumbent_us()[:-1])
    return np.asarray(~np.isfinite(run.truth.latency_us) | (run.truth.latency_us > before))


def _near(latency_us: FloatColumn, optimum_us: float) -> BoolColumn:
    """What works and comes close to the optimum."""
    return np.isfinite(latency_us) & (latency_us <= optimum_us * (1 + NEAR))


def _share(hit: BoolColumn, among: BoolColumn) -> float:
    return float(hit[among].mean()) if among.any() else 0.0


def _against(run: Judged, control: Judged) -> dict[str, float]:
    """Nothing to be held against where the control found nothing that works."""
    if not np.isfinite(control.best_us):
        return dict.fromkeys(AGAINST_CONTROL, float("nan"))
    target = control.best_us * (1 + CONVERGED)
    control_s, control_trials, _ = control.reaches(target)
    own_s, own_trials, converged = run.reaches(target)
    return {
        "versus_none": run.best_us / control.best_us - 1,
        "convergence_speedup_time": control_s / own_s if own_s else float("nan"),
        "convergence_speedup_trials": control_trials / own_trials if own_trials else float("nan"),
        "unconverged": float(not converged),
    }


def nodes(
    validity: Sequence[Mapping[str, BoolColumn]], allowed: Sequence[Mapping[str, BoolColumn]]
) -> dict[str, float]:
    """How many invalid and valid nodes the task stage removed, over all sketches."""
    valid = _flat(validity)
    gone = ~_flat(
        [
            {k: a.get(k, np.ones_like(v)) for k, v in d.items()}
            for d, a in zip(validity, allowed, strict=True)
        ]
    )
    return {
        "node_prune_rate": _share(gone, ~valid),
        "valid_nodes_pruned": _share(gone, valid),
        "invalid_nodes": float((~valid).sum()),
        "nodes": float(len(valid)),
    }


def _flat(masks: Sequence[Mapping[str, BoolColumn]]) -> BoolColumn:
    return np.concatenate([m for d in masks for m in d.values()]).astype(bool)


def space(keep: BoolColumn, latency_us: NDArray[np.float64], optimum_us: float) -> dict[str, float]:
    """Space regret and false prunes over the reference, for a mask of what survives."""
    best_kept = float(latency_us[keep].min(initial=np.inf))
    near = _near(latency_us, optimum_us)
    return {
        "space_regret": best_kept / optimum_us - 1 if np.isfinite(optimum_us) else float("nan"),
        "space_false_prune_rate": _share(~keep, near),
    }


def over_seeds(rows: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float | None]]:
    """Median, lowest and highest of each measure over the seeds that have it."""
    out = {}
    for key in rows[0]:
        values = [row[key] for row in rows if not np.isnan(row[key])] or [float("nan")]
        low, mid, high = min(values), statistics.median(values), max(values)
        out[key] = {"median": as_json(mid), "low": as_json(low), "high": as_json(high)}
    return out


def as_json(value: float) -> float | None:
    """Six significant digits; JSON has no infinity, a measure that has no value is null."""
    return float(f"{value:.6g}") if np.isfinite(value) else None
