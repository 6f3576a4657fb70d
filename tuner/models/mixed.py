"""Trees and a smooth regression, averaged.

Boosted trees see thresholds (a buffer that overflows), kernel ridge regression interpolates between
the few points that a run has measured.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RBFInterpolator

from tuner.models.lightgbm import Trees
from tuner.models.scaled import Scaled

RIDGE = 1e-2  # noise of the kernel regression, in squared log latency
REACH = 2.0  # standard deviations of a feature that the kernel is wide

Rows = NDArray[np.float64]


class Mixed:
    """The mean of boosted trees and kernel ridge regression."""

    def __init__(self, seed: int) -> None:
        self._trees = Trees(seed)
        self._smooth: KernelRidge | None = None

    def fit(self, x: NDArray[np.float32], target: Rows, weight: Rows) -> None:
        """Train both anew."""
        self._trees.fit(x, target, weight)
        self._smooth = KernelRidge(x, target, weight)

    def predict(self, x: NDArray[np.float32]) -> Rows:
        """``(n,)`` predictions."""
        assert self._smooth is not None
        return (self._trees.predict(x) + self._smooth(x)) / 2


class KernelRidge:
    """Gaussian kernel ridge regression on standardised features that vary; the less a row weighs,
    the more noise it may have.
    """

    def __init__(self, x: NDArray[np.float32], target: Rows, weight: Rows) -> None:
        self._scaled = Scaled(x)
        self._model: RBFInterpolator | None = None
        if self._scaled.width:
            width = 1 / (REACH * np.sqrt(2 * self._scaled.width))
            self._model = RBFInterpolator(
                self._scaled(x),
                target,
                kernel="gaussian",
                epsilon=width,
                smoothing=RIDGE / weight,
                degree=0,
            )
        self._constant = float(target.mean())

    def __call__(self, x: NDArray[np.float32]) -> Rows:
        if self._model is None:
            return np.full(len(x), self._constant)
        return np.asarray(self._model(self._scaled(x)))
