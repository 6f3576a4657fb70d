"""The cost model: how far a kernel is from its roofline, learnt from the run's measurements.

The target is the logarithm of latency over the least latency that the chip's peaks allow, so that
only what physics does not say already has to be learnt.  Two models on the 38 features are
averaged: boosted trees see thresholds (a buffer that overflows), kernel ridge regression
interpolates between the few points that a run has measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RBFInterpolator

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.features import features, log_least_us
from pruner.forest import ForestOptions, predict, train

MIN_ROWS = 16  # measurements before the model says anything
FAILURE_FACTOR = 4.0  # a failure counts as this many times the slowest success
RIDGE = 1e-2  # noise of the kernel regression, in squared log latency

Rows = NDArray[np.float64]


class CostModel:
    """Trained anew from all measurements of the run after each round."""

    def __init__(self, chip: Chip, seed: int) -> None:
        self._chip = chip
        self._options = ForestOptions(seed=seed)
        self._features: list[NDArray[np.float32]] = []
        self._latency_us: list[NDArray[np.float64]] = []
        self._booster: Any = None
        self._smooth: _KernelRidge | None = None

    @property
    def ready(self) -> bool:
        """Whether enough was measured to predict."""
        return self._booster is not None

    def update(self, table: KernelTable, latency_us: NDArray[np.float64]) -> None:
        """Learn from the candidates of ``table``: one latency each, ``inf`` for failures."""
        self._features.append(features(table, self._chip))
        self._latency_us.append(latency_us)
        x, y = np.concatenate(self._features), np.concatenate(self._latency_us)
        worked = np.isfinite(y)
        if len(y) < MIN_ROWS or not worked.any():
            return
        latency = np.where(worked, y, y[worked].max() * FAILURE_FACTOR)
        target = np.log(latency) - log_least_us(x)
        self._booster = train(x, target, self._options)
        self._smooth = _KernelRidge(x.astype(np.float64), target)

    def predict(self, table: KernelTable) -> NDArray[np.float64]:
        """Predicted log latency ``(n_candidates,)``; only where :attr:`ready`."""
        if self._booster is None or self._smooth is None:
            raise RuntimeError("the cost model has not been trained")
        x = features(table, self._chip)
        mean = (predict(self._booster, x) + self._smooth(x.astype(np.float64))) / 2
        return np.asarray(mean + log_least_us(x))


class _KernelRidge:
    """Gaussian kernel ridge regression on standardised features that vary."""

    def __init__(self, x: Rows, target: Rows) -> None:
        spread = x.std(axis=0)
        self._used = spread > 1e-6 * (1 + np.abs(x).max(axis=0))
        self._mean, self._spread = x.mean(axis=0)[self._used], spread[self._used]
        self._model: RBFInterpolator | None = None
        if self._used.any():
            width = 1 / np.sqrt(2 * self._used.sum())  # one standard deviation in each feature
            self._model = RBFInterpolator(
                self._scaled(x), target, kernel="gaussian", epsilon=width, smoothing=RIDGE, degree=0
            )
        self._constant = float(target.mean())

    def __call__(self, x: Rows) -> Rows:
        if self._model is None or not len(x):
            return np.full(len(x), self._constant)
        return np.asarray(self._model(self._scaled(x)))

    def _scaled(self, x: Rows) -> Rows:
        return np.asarray((x[:, self._used] - self._mean) / self._spread)
