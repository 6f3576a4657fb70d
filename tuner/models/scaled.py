"""Features as distances: what smooth models need and trees do not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]


class Scaled:
    """Standardises the features that vary in a training set; the others are left out."""

    def __init__(self, x: NDArray[np.float32]) -> None:
        rows = x.astype(np.float64)
        spread = rows.std(axis=0)
        self._used = spread > 1e-6 * (1 + np.abs(rows).max(axis=0))
        self._mean, self._spread = rows.mean(axis=0)[self._used], spread[self._used]

    @property
    def width(self) -> int:
        """Number of features that vary."""
        return int(self._used.sum())

    def __call__(self, x: NDArray[np.float32]) -> Rows:
        """``(n, width)`` standardised features."""
        rows = x[:, self._used].astype(np.float64)
        return np.asarray((rows - self._mean) / self._spread)
