"""A neural regressor with squared loss on the logarithm of latency (scikit-learn's MLP, Adam)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.models.scaled import Scaled

HIDDEN = (64, 64)
EPOCHS = 200
DECAY = 1e-3  # L2 penalty
LEARNING_RATE = 3e-3

Rows = NDArray[np.float64]


class Mlp:
    """Two hidden layers of 64 rectified units on standardised features and target."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._network: Any = None
        self._mean, self._spread = 0.0, 1.0

    def fit(self, x: NDArray[np.float32], target: Rows, weight: Rows) -> None:
        """Train anew, from the same initial weights for the same seed."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPRegressor

        self._scaled = Scaled(x)
        self._mean, self._spread = float(target.mean()), float(target.std()) or 1.0
        self._network = None
        if not self._scaled.width:
            return
        self._network = MLPRegressor(
            hidden_layer_sizes=HIDDEN,
            alpha=DECAY,
            learning_rate_init=LEARNING_RATE,
            batch_size=min(64, len(x)),
            max_iter=EPOCHS,
            random_state=self._seed,
        )
        with warnings.catch_warnings():  # so many epochs are all that is asked for
            warnings.simplefilter("ignore", ConvergenceWarning)
            scaled = (target - self._mean) / self._spread
            self._network.fit(self._scaled(x), scaled, sample_weight=weight)

    def predict(self, x: NDArray[np.float32]) -> Rows:
        """``(n,)`` predictions; the mean of what was learnt where no feature varied."""
        if self._network is None:
            return np.full(len(x), self._mean)
        return np.asarray(self._network.predict(self._scaled(x)) * self._spread + self._mean)
