"""The cost model: boosted trees on the 38 features predict the logarithm of a latency."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pruner.forest import ForestOptions, predict, train

MIN_ROWS = 16  # measurements before the model says anything
FAILURE_FACTOR = 4.0  # a failure counts as this many times the slowest success


class TreeCostModel:
    """Trained anew from all measurements of the run after each round."""

    def __init__(self, seed: int) -> None:
        self._options = ForestOptions(seed=seed)
        self._features: list[NDArray[np.float32]] = []
        self._latency_us: list[NDArray[np.float64]] = []
        self._booster: Any = None

    @property
    def ready(self) -> bool:
        """Whether enough was measured to predict."""
        return self._booster is not None

    def update(self, features: NDArray[np.float32], latency_us: NDArray[np.float64]) -> None:
        """Learn from ``features`` ``(n, 38)`` and ``latency_us`` ``(n,)``, ``inf`` for failures."""
        self._features.append(features)
        self._latency_us.append(latency_us)
        x, y = np.concatenate(self._features), np.concatenate(self._latency_us)
        worked = np.isfinite(y)
        if len(y) < MIN_ROWS or not worked.any():
            return
        target = np.log(np.where(worked, y, y[worked].max() * FAILURE_FACTOR))
        self._booster = train(x, target, self._options)

    def predict(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Predicted log latency ``(n,)``; only where :attr:`ready`."""
        if self._booster is None:
            raise RuntimeError("the cost model has not been trained")
        return predict(self._booster, features)
