"""LightGBM as the gate uses it: small, single-threaded, the same trees for the same data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pruner.trees import NotExportable, Walk, trees_of

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


@dataclass(frozen=True)
class Folds:
    """Forests each of which has not seen a quarter of the rows; ``held`` ``(n,)`` is what the one
    that has not seen a row predicts for it.
    """

    held: Floats
    boosters: tuple[lgb.Booster, ...]

    def lowest(self, x: Rows) -> Floats:
        """``(m,)``: the least that any of them predicts for ``m`` other rows."""
        if len(x) == 1 and self._walk is not None:
            return np.asarray(self._walk(x[0]).min(keepdims=True))
        return np.asarray(np.minimum.reduce([predict(b, x) for b in self.boosters]))

    @cached_property
    def _walk(self) -> Walk | None:
        return walk_of(self.boosters)


def walk_of(boosters: Sequence[lgb.Booster]) -> Walk | None:
    """For a single row; ``None`` where LightGBM has to predict that as well."""
    try:
        return Walk([trees_of(booster) for booster in boosters])
    except NotExportable:
        return None


def out_of_fold(x: Rows, y: Floats, options: ForestOptions) -> Folds:
    """Row i belongs to fold ``i mod 4``: rounds of measurements spread over all folds."""
    fold, held, boosters = np.arange(len(y)) % FOLDS, np.empty(len(y)), []
    for k in range(FOLDS):
        out = fold == k
        boosters.append(train(x[~out], y[~out], options))
        held[out] = predict(boosters[-1], x[out])
    return Folds(held, tuple(boosters))
