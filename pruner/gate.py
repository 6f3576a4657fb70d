"""The learned gate: how likely a candidate is worthless, from what the run has measured so far.

LightGBM predicts, from the 38 features, how far above its lower bound a candidate stays: the
logarithm of latency over ``least_us``.  Where the search has not been yet that holds far better
than a prediction of the latency itself.  Platt scaling on held-out predictions turns the distance
to the best so far into the probability of being worse than it.  Labels are relative to the current
best, so they are taken afresh after every round.

Nearly every candidate is worse than the best, so that a true probability alone would prune the
few good ones along with the many bad ones.  A second condition protects them: the prediction has to
lie beyond ``NEAR`` of the best by more than the error that ``caution`` of the held-out predictions
stay below.  That error is taken of the best quarter of what was measured: how far a good candidate
is overestimated is the question, and the many bad ones, whose errors are several times as large,
say little about it.  Where that quarter is small its largest errors are still to come: the
allowance for them is twice the error of the fewest, and goes back to the error as they get more.

Where the search has not been, one forest is sure of what it cannot know.  What it would prune is
therefore put to the forests of the folds, each of which has not seen a quarter of the measurements:
it goes only where the most hopeful of them, too, predicts it beyond the cut.

With a prior (:mod:`pruner.prior`) the trees learn what it gets wrong instead.  Both ways are held
against held-out measurements of the run after every round, and the better one predicts; a prior
that explains most of them lets the gate prune after half of the measurements that it needs
otherwise.  Where outcomes contradict a gate that predicts from its prior, the prior goes first.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pruner.calibration import Platt, Reliability, fit_platt, reliability
from pruner.drift import Drift
from pruner.forest import Folds, ForestOptions, out_of_fold, predict, train, walk_of
from pruner.prior import Base, Prior
from pruner.trees import Walk

if TYPE_CHECKING:
    import lightgbm as lgb

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

VERSION = "1.2.0"
NEAR = 0.05  # what is this close to the best is never to be pruned
GOOD_SHARE, FEWEST_GOOD = 0.25, 16  # of the measurements: those that the caution is about
EXPLAINED = 0.75  # share of the variance that a prior has to explain, held out, to be early
FAILURE_FACTOR = 2.0  # a failure counts as this many times the slowest kernel that ran


@dataclass(frozen=True)
class GateOptions:
    """``threshold``: above this probability a candidate is skipped.

    ``caution``: share of candidates as good as the best that have to pass.  ``min_samples``:
    measurements, and a quarter of that many successful ones, before the gate prunes at all (no
    data, no pruning).
    """

    threshold: float = 0.85
    caution: float = 0.99
    min_samples: int = 32
    forest: ForestOptions = field(default_factory=ForestOptions)

    def __post_init__(self) -> None:
        """Refuse what is no probability and fewer samples than folds can be made of."""
        if not 0 < self.threshold <= 1:
            raise ValueError(f"gate threshold {self.threshold}: expected above 0 and at most 1")
        if not 0 <= self.caution <= 1:
            raise ValueError(f"gate caution {self.caution}: expected a share between 0 and 1")
        if self.min_samples < 16:
            raise ValueError(f"gate min_samples {self.min_samples}: expected at least 16")


@dataclass(frozen=True)
class Opinion:
    """The gate's word on ``n`` candidates; every column is ``(n,)``.

    ``probability`` of failing or being worse than the best, ``predicted_us``, and whether to
    ``prune``: above the threshold, and predicted beyond ``cut_us``.
    """

    probability: Floats
    predicted_us: Floats
    cut_us: float
    prune: NDArray[np.bool_]

    def among(self, asked: NDArray[np.int64], n: int) -> Opinion:
        """The same on candidates ``asked`` of ``n``: ``nan`` for the others, which it keeps."""
        if len(asked) == n:
            return self
        unasked = not_asked(n)
        probability, predicted = unasked.probability, unasked.predicted_us
        probability[asked], predicted[asked] = self.probability, self.predicted_us
        unasked.prune[asked] = self.prune
        return Opinion(probability, predicted, self.cut_us, unasked.prune)


def not_asked(n: int) -> Opinion:
    """No word on any of ``n`` candidates."""
    return Opinion(np.full(n, np.nan), np.full(n, np.nan), float("inf"), np.zeros(n, bool))


class Gate:
    """Learns online from one task's measurements; deterministic for the same sequence of them."""

    def __init__(
        self, options: GateOptions | None = None, *, seed: int = 0, prior: Prior | None = None
    ) -> None:
        self.options, self.prior = options or GateOptions(), prior
        self._forest = replace(self.options.forest, seed=seed)
        self._x: list[Rows] = []
        self._latency: list[Floats] = []
        self._best_us = self._best_log = self._cut_log = self._cut_us = float("inf")
        self._booster: lgb.Booster | None = None
        self._cold, self._base = Base(), Base()
        self._warm = prior.trained(seed) if prior else None
        self._platt = Platt(0.0, 0.0, 1.0)
        self._margin = 0.0  # of log latency
        self._folds: Folds | None = None
        self._walked: tuple[lgb.Booster | None, Walk | None] = None, None
        self._drift = Drift()
        self.held_out = Reliability(0, 0.0, 0.0, ())

    def __str__(self) -> str:
        """The gate as it is named in verdicts."""
        o, n = self.options, len(self.prior.x) if self.prior else 0
        more = f",prior={n}" if n else ""
        return (
            f"lightgbm-gate{{version={VERSION},threshold={o.threshold},caution={o.caution}{more}}}"
        )

    @property
    def warm(self) -> bool:
        """Whether it predicts from its prior."""
        return self._warm is not None and self._base is self._warm

    @property
    def samples(self) -> int:
        """Measurements seen."""
        return sum(len(y) for y in self._latency)

    @property
    def best_us(self) -> float:
        """Best latency seen; ``inf`` before the first success."""
        return self._best_us

    @property
    def ready(self) -> bool:
        """Whether there are data enough for a probability."""
        return self._booster is not None

    @property
    def open(self) -> bool:
        """Whether the gate lets everything pass because measurements contradict it."""
        return self._drift.detected

    @property
    def cautious(self) -> bool:
        """Whether what may be as good as the best is protected."""
        return self.options.caution > 0

    @property
    def threshold_now(self) -> float:
        """The probability above which it prunes: 1 (never) while it is open."""
        return 1.0 if self.open else self.options.threshold

    @property
    def penalty_us(self) -> float:
        """Latency to assume for what was skipped: the slowest that ran; ``inf`` without data."""
        ran = [y[np.isfinite(y)] for y in self._latency]
        return max((float(y.max()) for y in ran if len(y)), default=float("inf"))

    @property
    def in_use(self) -> Reliability:
        """Calibration of what the gate said before the measurement, probes included."""
        return self._drift.reliability()

    @property
    def scaling(self) -> tuple[Platt, float]:
        """From predictions to probabilities, and the margin of log latency beyond the best."""
        return self._platt, self._margin

    @property
    def booster(self) -> lgb.Booster | None:
        """The trees that predict; a new object whenever they have changed."""
        return self._booster

    @property
    def doubters(self) -> tuple[lgb.Booster, ...]:
        """The forests of the folds, all of which have to agree before it prunes."""
        return self._folds.boosters if self._folds is not None and self.cautious else ()

    def opine(self, x: Rows, trees: Floats | None = None) -> Opinion:
        """Judge candidates by their ``(n, 38)`` features; ``trees`` is what the booster predicts
        for them, where that is known already.

        Raises
        ------
        ValueError
            The gate is not ready: it has not seen measurements enough.
        """
        if self._booster is None:
            raise ValueError(f"gate: {self.samples} samples, it needs {self.options.min_samples}")
        lowest, base = None, self._base(x)
        if trees is None:
            trees, lowest = self._predicted(self._booster, x)
        predicted = trees + base
        probability = self._platt.probability(predicted, self._best_log)
        prune = (probability > self.threshold_now) & (predicted > self._cut_log)
        if self.cautious and np.count_nonzero(prune):
            lowest = self._lowest(x, prune) if lowest is None else lowest
            predicted = np.minimum(predicted, lowest + base)
            prune &= predicted > self._cut_log
        return Opinion(probability, np.exp(predicted), self._cut_us, prune)

    def _predicted(self, booster: lgb.Booster, x: Rows) -> tuple[Floats, Floats | None]:
        """``(n,)`` what the trees predict; of a single row also the least that the folds' forests
        do, since all of them are walked at once.
        """
        walk = self._walk if len(x) == 1 else None
        if walk is None:
            return predict(booster, x) if len(x) else np.zeros(0), None
        sums = walk(x[0])
        return sums[:1], sums[1:].min(keepdims=True, initial=np.inf)

    def _lowest(self, x: Rows, some: NDArray[np.bool_]) -> Floats:
        """``(n,)`` the least that the folds' forests predict for ``some``, ``inf`` for others."""
        lowest = np.full(len(x), np.inf)
        if self._folds is not None:
            lowest[some] = self._folds.lowest(x[some])
        return lowest

    @property
    def _walk(self) -> Walk | None:
        """All its forests, made when they have changed and are asked for."""
        if self._walked[0] is not self._booster:
            self._walked = self._booster, walk_of([b for b in (self._booster, *self.doubters) if b])
        return self._walked[1]

    def observe(self, x: Rows, latency_us: ArrayLike, promised: ArrayLike | None = None) -> None:
        """Learn from measurements.

        Parameters
        ----------
        x:
            ``(n, 38)`` features of the measured candidates.
        latency_us:
            ``(n,)``, ``inf`` for a failure.
        promised:
            ``(n,)`` probabilities given for them before (``nan``: none); outcomes are held against
            them, and the gate opens when they contradict it.
        """
        latency = np.asarray(latency_us, dtype=np.float64)
        if promised is not None and np.isfinite(self.best_us):
            self._drift.compare(np.asarray(promised, np.float64), latency > self.best_us)
            if self.open and self.warm:
                self._forget_prior()
        self._x.append(np.asarray(x, np.float32))
        self._latency.append(latency)
        self._best_us = min(self._best_us, *latency.tolist(), np.inf)
        self._learn()
        self._best_log = float(np.log(self._best_us))
        self._cut_log = self._best_log + self._margin
        self._cut_us = float(np.exp(self._cut_log))

    def _forget_prior(self) -> None:
        """The prior misled: go on as if there had been none."""
        self._warm, self._base, self._booster = None, self._cold, None
        self._drift.clear()

    def _learn(self) -> None:
        latency = np.concatenate(self._latency)
        ran = np.isfinite(latency)
        needed = self.options.min_samples
        early = len(latency) < needed and self._warm is not None
        if len(latency) < (needed // 2 if early else needed) or ran.sum() < max(needed // 4, 4):
            return
        x = np.concatenate(self._x)
        log = np.log(np.where(ran, latency, FAILURE_FACTOR * latency[ran].max()))
        base, folds = self._best_base(x, log)
        held = folds.held + base(x)
        if early and np.mean((held - log) ** 2) > (1 - EXPLAINED) * np.var(log):
            return
        self._base, self._platt, self._folds = base, fit_platt(held, log), folds
        self._margin = _margin(held - log, log, self.options.caution)
        best = float(log.min())
        self.held_out = reliability(self._platt.probability(held, best), log > best)
        self._booster = train(x, log - base(x), self._forest)

    def _best_base(self, x: Rows, log: Floats) -> tuple[Base, Folds]:
        """The base with the smallest held-out error, and the forests that correct it."""
        bases = [self._cold, *([self._warm] if self._warm else [])]
        tried = [(b, out_of_fold(x, log - b(x), self._forest)) for b in bases]
        return min(tried, key=lambda t: float(np.mean((t[1].held + t[0](x) - log) ** 2)))


def _margin(error: Floats, log: Floats, caution: float) -> float:
    """How far beyond the best, in log latency, a prediction has to lie: ``error`` ``(n,)`` is how
    much too high the held-out predictions were.
    """
    if not caution:
        return 0.0
    n_good = max(int(GOOD_SHARE * len(log)), FEWEST_GOOD)
    good = np.argsort(log, kind="stable")[:n_good]
    overestimated = max(float(np.quantile(error[good], caution)), 0.0)
    return float(np.log1p(NEAR)) + (1 + FEWEST_GOOD / n_good) * overestimated
