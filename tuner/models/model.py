"""The one interface of cost models."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hwsim.table import KernelTable


class CostModel(Protocol):
    """Predicts latencies of candidates; deterministic for a seed and a sequence of updates."""

    @property
    def ready(self) -> bool:
        """Whether enough was measured to predict."""
        ...

    def update(self, table: KernelTable, latency_us: NDArray[np.float64]) -> None:
        """Learn from the candidates of ``table``: one latency each, ``inf`` for failures."""
        ...

    def predict(self, table: KernelTable) -> NDArray[np.float64]:
        """Predicted natural logarithm of the latency in us, ``(n_candidates,)``; only where
        :attr:`ready`.
        """
        ...
