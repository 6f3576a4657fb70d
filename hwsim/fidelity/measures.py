"""How well predictions agree with measurements: errors, ranks, and what trusting them costs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr

from hwsim.result import FloatColumn

NOTABLE = 1.05  # measured times closer than this are not told apart
_SMALLEST_SPACE = 3  # schedules of one problem that make a space worth ranking
_MOST_PAIRS = 2_000  # schedules up to which all pairs are compared
_BEST = 10


@dataclass(frozen=True)
class Scores:
    """Agreement of ``n`` predictions with measurements; None where a measure does not apply.

    ``mape`` and ``median_ape`` are mean and median of ``|predicted / measured - 1|``.  The ranks
    are means over the spaces: ``optimum_rank_share`` the share of a space that is predicted to be
    faster than the really best schedule, ``best_ten_rank_share`` the median of that over the really
    best ten, ``predicted_best_slowdown`` the measured time of the schedule predicted best over that
    of the best.  ``order_share`` is the share of pairs, more than 5 % apart in reality, whose order
    is right.  Schedules that run and are predicted to fail (``false_failures``) rank last and stay
    out of the errors.
    """

    n: int
    mape: float | None
    median_ape: float | None
    bias: float | None  # median of predicted / measured
    spearman: float | None
    optimum_rank_share: float | None
    best_ten_rank_share: float | None
    predicted_best_slowdown: float | None
    order_share: float | None
    false_failures: int


def score(
    predicted: FloatColumn, measured: FloatColumn, groups: NDArray[np.int64] | None
) -> Scores:
    """Scores of ``(n,)`` predictions (inf: predicted to fail) of positive measurements."""
    works = np.isfinite(predicted)
    ratio = predicted[works] / measured[works]
    error = np.abs(ratio - 1)
    spaces = _spaces(predicted, measured, groups)
    return Scores(
        n=len(measured),
        mape=_mean(error),
        median_ape=float(np.median(error)) if len(error) else None,
        bias=float(np.median(ratio)) if len(ratio) else None,
        spearman=spearman(predicted, measured),
        optimum_rank_share=_mean([_rank_shares(p)[np.argmin(m)] for p, m in spaces]),
        best_ten_rank_share=_mean([_best_ten(p, m) for p, m in spaces if len(m) > _BEST]),
        predicted_best_slowdown=_mean([_slowdown(p, m) for p, m in spaces]),
        order_share=_order(spaces),
        false_failures=int((~works).sum()),
    )


def spearman(predicted: FloatColumn, measured: FloatColumn) -> float | None:
    """Spearman's rank correlation; None for fewer than three rows or where nothing varies."""
    if len(measured) < 3:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant input: answered with None
        rho = float(spearmanr(predicted, measured)[0])
    return rho if np.isfinite(rho) else None


def _spaces(
    predicted: FloatColumn, measured: FloatColumn, groups: NDArray[np.int64] | None
) -> list[tuple[FloatColumn, FloatColumn]]:
    if groups is None:
        return []
    members = [groups == group for group in np.unique(groups)]
    return [(predicted[m], measured[m]) for m in members if m.sum() >= _SMALLEST_SPACE]


def _rank_shares(predicted: FloatColumn) -> FloatColumn:
    """Share of the space predicted faster than each schedule; half of those predicted equal."""
    return np.asarray((rankdata(predicted) - 1) / len(predicted))


def _best_ten(predicted: FloatColumn, measured: FloatColumn) -> float:
    best = np.argsort(measured, kind="stable")[:_BEST]
    return float(np.median(_rank_shares(predicted)[best]))


def _slowdown(predicted: FloatColumn, measured: FloatColumn) -> float:
    """Expected slow-down of the choice; among schedules that are predicted equal it is random."""
    chosen = measured[predicted == predicted.min()]
    return float(chosen.mean() / measured.min())


def _order(spaces: list[tuple[FloatColumn, FloatColumn]]) -> float | None:
    right = pairs = 0
    for predicted, measured in spaces:
        if len(measured) > _MOST_PAIRS:
            return None
        slower = measured[:, None] > NOTABLE * measured[None, :]
        pairs += int(slower.sum())
        right += int((slower & (predicted[:, None] > predicted[None, :])).sum())
    return right / pairs if pairs else None


def _mean(values: list[float] | FloatColumn) -> float | None:
    return float(np.mean(values)) if len(values) else None
