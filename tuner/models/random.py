"""A model that knows nothing: what any other one has to beat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hwsim.table import KernelTable


class RandomModel:
    """Predicts uniform noise."""

    ready = True

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def update(self, table: KernelTable, latency_us: NDArray[np.float64]) -> None:
        """Nothing to learn."""

    def predict(self, table: KernelTable) -> NDArray[np.float64]:
        """``(n_candidates,)`` numbers between 0 and 1."""
        return self._rng.random(table.n_candidates)
