"""From a predicted latency to the probability of being worse than the best, and how true it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STEPS = 25  # Newton steps; the problem has two unknowns and converges in a few
_RIDGE = 1e-3
_SMALLEST_STEP = 1e-9


@dataclass(frozen=True)
class Platt:
    """``P(worse) = sigmoid(slope * z + offset)``, z = log(predicted / best) over the spread."""

    slope: float
    offset: float
    spread: float

    def probability(self, predicted_log: Floats, best_log: float) -> Floats:
        """``(n,)`` for predictions of log latency."""
        z = (predicted_log - best_log) / self.spread
        return _sigmoid(self.slope * z + self.offset)


def fit_platt(held_log: Floats, true_log: Floats, references: int = 8) -> Platt:
    """Platt scaling on held-out predictions.

    Against the best alone there would be a single negative label, so every one of the
    ``references`` best latencies serves as "the best" once; the targets are smoothed as in Platt
    (1999), which keeps the probability away from 0 and 1 where there are few data.
    """
    spread = max(float(np.std(true_log - held_log)), 1e-3)
    best = np.sort(true_log)[:references]
    z = ((held_log[:, None] - best) / spread).ravel()
    worse = (true_log[:, None] > best).ravel()
    n_worse, n_better = int(worse.sum()), int((~worse).sum())
    target = np.where(worse, (n_worse + 1) / (n_worse + 2), 1 / (n_better + 2))
    slope, offset = _newton(z, target)
    return Platt(max(slope, 0.0), offset, spread)


def _newton(z: Floats, target: Floats) -> tuple[float, float]:
    """Newton's method with halved steps (Lin, Lin and Weng 2007): a full step overshoots where
    separable points leave the slope nearly free.
    """
    at = np.array([1.0, 0.0])
    loss = _loss(at, z, target)
    for _ in range(_STEPS):
        step = _newton_step(at, z, target)
        while (found := _loss(at - step, z, target)) > loss and np.abs(step).max() > _SMALLEST_STEP:
            step = step / 2
        at, loss = at - step, found
    return float(at[0]), float(at[1])


def _newton_step(at: Floats, z: Floats, target: Floats) -> Floats:
    p = _sigmoid(at[0] * z + at[1])
    weight = p * (1 - p)
    gradient = np.array([(z * (p - target)).sum() + _RIDGE * at[0], (p - target).sum()])
    off = (weight * z).sum()
    hessian = np.array([[(weight * z * z).sum() + _RIDGE, off], [off, weight.sum() + _RIDGE]])
    return np.asarray(np.clip(np.linalg.solve(hessian, gradient), -2, 2))


def _loss(at: Floats, z: Floats, target: Floats) -> float:
    """Cross entropy with soft targets, and the ridge on the slope."""
    s = at[0] * z + at[1]
    return float((np.logaddexp(0.0, s) - target * s).sum() + _RIDGE * at[0] ** 2 / 2)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.minimum(np.maximum(x, -40), 40))))


@dataclass(frozen=True)
class ReliabilityBin:
    """Candidates whose predicted probability fell into one tenth: ``n`` of them."""

    n: int
    predicted: float  # mean probability
    observed: float  # share that was worse


@dataclass(frozen=True)
class Reliability:
    """How probabilities compare with outcomes; ``error`` is the expected calibration error."""

    n: int
    error: float
    brier: float
    bins: tuple[ReliabilityBin, ...]


def reliability(probability: Floats, worse: NDArray[np.bool_]) -> Reliability:
    """Compare predicted probabilities ``(n,)`` with outcomes, in tenths that are not empty."""
    n = len(probability)
    tenth = np.minimum((probability * 10).astype(np.int64), 9)
    bins = tuple(
        ReliabilityBin(
            int((tenth == t).sum()),
            float(probability[tenth == t].mean()),
            float(worse[tenth == t].mean()),
        )
        for t in np.unique(tenth)
    )
    error = sum(b.n * abs(b.predicted - b.observed) for b in bins) / max(n, 1)
    brier = float(((probability - worse) ** 2).mean()) if n else 0.0
    return Reliability(n, error, brier, bins)
