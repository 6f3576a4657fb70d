"""The cost model: boosted trees on the 38 features predict how far a kernel is from its roofline.

The target is the logarithm of latency over the least latency that the chip's peaks allow, so that
the trees need to learn only what physics does not say already.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.features import features, log_least_us
from pruner.forest import ForestOptions, predict, train

MIN_ROWS = 16  # measurements before the model says anything
FAILURE_FACTOR = 4.0  # a failure counts as this many times the slowest success


class TreeCostModel:
    """Trained anew from all measurements of the run after each round."""

    def __init__(self, chip: Chip, seed: int) -> None:
        self._chip = chip
        self._options = ForestOptions(seed=seed)
        self._features: list[NDArray[np.float32]] = []
        self._latency_us: list[NDArray[np.float64]] = []
        self._booster: Any = None

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
        self._booster = train(x, np.log(latency) - log_least_us(x), self._options)

    def predict(self, table: KernelTable) -> NDArray[np.float64]:
        """Predicted log latency ``(n_candidates,)``; only where :attr:`ready`."""
        if self._booster is None:
            raise RuntimeError("the cost model has not been trained")
        x = features(table, self._chip)
        return predict(self._booster, x) + log_least_us(x)
