"""How good the cost model's predictions were, each held against the measurement it preceded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.bench.history import FloatColumn, History


def model_quality(history: History) -> dict[str, float]:
    """``model_pairwise_accuracy``, ``model_peak_at_1`` and ``model_peak_at_5``; ``nan`` where
    nothing was predicted.
    """
    known = ~np.isnan(history.predicted_us) & history.measured
    predicted, measured = history.predicted_us[known], history.mean_us[known]
    return {
        "model_pairwise_accuracy": pairwise_accuracy(predicted, measured, history.round[known]),
        "model_peak_at_1": peak_at(1, predicted, measured),
        "model_peak_at_5": peak_at(5, predicted, measured),
    }


def pairwise_accuracy(
    predicted: FloatColumn, measured: FloatColumn, batch: NDArray[np.int64]
) -> float:
    """Share of the pairs of one batch that are in the right order, of those that differ in what was
    measured; equal predictions count half.
    """
    right = pairs = 0.0
    for b in np.unique(batch):
        p, m = predicted[batch == b], measured[batch == b]
        slower = m[:, None] > m[None, :]
        pairs += slower.sum()
        right += (slower & (p[:, None] > p[None, :])).sum()
        right += (slower & (p[:, None] == p[None, :])).sum() / 2
    return right / pairs if pairs else float("nan")


def peak_at(k: int, predicted: FloatColumn, measured: FloatColumn) -> float:
    """Best latency of all over the best of the ``k`` with the least prediction, between 0 and 1."""
    best = measured.min(initial=np.inf)
    if not np.isfinite(best):
        return float("nan")
    chosen = np.argsort(predicted, kind="stable")[:k]
    return float(best / measured[chosen].min())
