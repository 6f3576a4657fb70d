"""Boosted trees alone: they see thresholds, a buffer that overflows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pruner.forest import ForestOptions, predict, train

Rows = NDArray[np.float64]


class Trees:
    """LightGBM with the size of trees that the gate uses."""

    def __init__(self, seed: int) -> None:
        self._options = ForestOptions(seed=seed)
        self._booster: Any = None

    def fit(self, x: NDArray[np.float32], target: Rows, weight: Rows) -> None:
        """Train anew."""
        self._booster = train(x, target, self._options, weight)

    def predict(self, x: NDArray[np.float32]) -> Rows:
        """``(n,)`` predictions."""
        return predict(self._booster, x)
