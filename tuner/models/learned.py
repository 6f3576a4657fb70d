"""What all learned cost models share: how far a kernel is from its roofline is what they learn.

The target is the logarithm of latency over what physics says already, so that only the rest has to
be learnt: over the least latency that the chip's peaks allow or, where the run's pruner has a
draft, over that.  A measurement counts by its throughput, so that the model is right about the good
programs (as in Ansor, OSDI 2020, section 5.2; there to the first power): what is four times slower
need not be told from what is five times slower.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.draft import draft_us
from pruner.features import features, log_least_us

MIN_ROWS = 16  # measurements before the model says anything
FAILURE_FACTOR = 4.0  # a failure counts as this many times the slowest success
WEIGHT_POWER = 2.0  # a measurement's weight is (best / latency) ** WEIGHT_POWER
LEAST_WEIGHT = 1e-3  # of what is far from good, so that it is not forgotten

Rows = NDArray[np.float64]


class Regressor(Protocol):
    """Regression from the 38 features; ``x`` is ``(n, 38)``, targets and answers are ``(n,)``."""

    def fit(self, x: NDArray[np.float32], target: Rows, weight: Rows) -> None:
        """Forget everything and learn from these rows, which count by ``weight`` ``(n,)``, at most
        1.
        """
        ...

    def predict(self, x: NDArray[np.float32]) -> Rows:
        """Answers for rows of features; only after a fit."""
        ...


class Learned:
    """A regressor that is trained anew from all measurements of the run after each round.

    ``drafted``: it corrects the pruner's draft (:mod:`pruner.draft`) instead of the lower bound.
    """

    def __init__(self, chip: Chip, regressor: Regressor, drafted: bool) -> None:
        self._chip, self._regressor, self._drafted = chip, regressor, drafted
        self._features: list[NDArray[np.float32]] = []
        self._latency_us: list[Rows] = []
        self._known: list[Rows] = []  # what physics says, log us
        self._fitted = False

    @property
    def ready(self) -> bool:
        """Whether enough was measured to predict."""
        return self._fitted

    def update(self, table: KernelTable, latency_us: Rows) -> None:
        """Learn from the candidates of ``table``: one latency each, ``inf`` for failures."""
        self._features.append(features(table, self._chip))
        self._known.append(self._physics(table, self._features[-1]))
        self._latency_us.append(latency_us)
        x, y = np.concatenate(self._features), np.concatenate(self._latency_us)
        worked = np.isfinite(y)
        if len(y) < MIN_ROWS or not worked.any():
            return
        latency = np.where(worked, y, y[worked].max() * FAILURE_FACTOR)
        weight = np.maximum((latency.min() / latency) ** WEIGHT_POWER, LEAST_WEIGHT)
        self._regressor.fit(x, np.log(latency) - np.concatenate(self._known), weight)
        self._fitted = True

    def predict(self, table: KernelTable) -> Rows:
        """Predicted log latency ``(n_candidates,)``.

        Raises
        ------
        RuntimeError
            The model is not :attr:`ready`.
        """
        if not self._fitted:
            raise RuntimeError("the cost model has not been trained")
        x = features(table, self._chip)
        return self._regressor.predict(x) + self._physics(table, x) if len(x) else np.zeros(0)

    def _physics(self, table: KernelTable, x: NDArray[np.float32]) -> Rows:
        return np.log(draft_us(table, self._chip)) if self._drafted else log_least_us(x)
