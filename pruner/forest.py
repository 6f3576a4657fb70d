"""LightGBM as the gate uses it: small, single-threaded, the same trees for the same data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import lightgbm as lgb

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

FOLDS = 4


@dataclass(frozen=True)
class ForestOptions:
    """Size of the trees; small, because a run measures hundreds of candidates, not millions."""

    trees: int = 100
    leaves: int = 8
    learning_rate: float = 0.1
    min_leaf: int = 4
    seed: int = 0

    def parameters(self) -> dict[str, Any]:
        """LightGBM's parameters; the last six make training reproducible and quiet."""
        return {
            "objective": "regression",
            "num_leaves": self.leaves,
            "learning_rate": self.learning_rate,
            "min_data_in_leaf": self.min_leaf,
            "lambda_l2": 1.0,
            "max_bin": 63,
            "min_data_in_bin": 1,
            "seed": self.seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "feature_pre_filter": False,
            "verbosity": -1,
        }


def train(x: Rows, y: Floats, options: ForestOptions, weight: Floats | None = None) -> lgb.Booster:
    """Trees that predict ``y`` ``(n,)`` from ``x`` ``(n, 38)``; ``weight`` ``(n,)``: all alike."""
    import lightgbm as lgb  # brings sklearn and pandas: seconds that only a gate has to spend

    data = lgb.Dataset(x, y, weight=weight, params=options.parameters(), free_raw_data=True)
    return lgb.train(options.parameters(), data, num_boost_round=options.trees)


def predict(booster: lgb.Booster, x: Rows) -> Floats:
    """``(n,)`` predictions."""
    return np.asarray(booster.predict(x, num_threads=1), dtype=np.float64)


def out_of_fold(x: Rows, y: Floats, options: ForestOptions) -> Floats:
    """``(n,)`` predictions for rows that the predicting trees have not seen.

    Row i belongs to fold ``i mod 4``: rounds of measurements spread over all folds.
    """
    fold = np.arange(len(y)) % FOLDS
    held = np.empty(len(y))
    for k in range(FOLDS):
        out = fold == k
        held[out] = predict(train(x[~out], y[~out], options), x[out])
    return held
