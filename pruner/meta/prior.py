"""The model as a prior: what it says of a task's candidates while the gate has too few data.

The network's scores are good up to a constant of the task, which the first measurements give: the
median of log latency minus score.  Before the first one, the best that was offered stands for the
current best.  The best scored candidate of a batch always passes, so that a prior never ends a run.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pruner.gate import Opinion
from pruner.meta.model import MetaModel

Floats = NDArray[np.float64]


class GraphPrior:
    """One task's use of a model; ``threshold`` as of the gate."""

    def __init__(self, model: MetaModel, threshold: float = 0.85) -> None:
        self.model, self.threshold = model, threshold
        self._offered = float("inf")  # best score offered
        self._errors: list[float] = []  # log latency - score of what was measured
        self._best_us = float("inf")

    def __str__(self) -> str:
        """The prior as it is named in verdicts."""
        version, identity = self.model.header.version, self.model.hash
        return f"gnn-prior{{version={version},hash={identity},threshold={self.threshold}}}"

    @property
    def shift(self) -> float:
        """The task's constant: what to add to a score for log latency; 0 without measurements."""
        return float(np.median(self._errors)) if self._errors else 0.0

    def opine(self, scores: Floats) -> Opinion:
        """Judge candidates by their scores ``(n,)``; ``nan``: could not be scored, and passes."""
        known = np.flatnonzero(np.isfinite(scores))
        if len(known):
            self._offered = min(self._offered, float(scores[known].min()))
        measured = np.isfinite(self._best_us)
        best = float(np.log(self._best_us)) - self.shift if measured else self._offered
        probability = self.model.worse_than(scores, best)
        prune = np.isfinite(scores) & (probability > self.threshold)
        if len(known):
            prune[known[np.argmin(scores[known])]] = False
        cut_us = float(np.exp(best + self.shift) * self.model.header.worse)
        return Opinion(probability, np.exp(scores + self.shift), cut_us, prune)

    def observe(self, scores: Floats, latency_us: ArrayLike) -> None:
        """Learn the task's constant and its best; ``inf`` latencies are failures."""
        latency = np.asarray(latency_us, dtype=np.float64)
        ran = np.isfinite(latency)
        self._best_us = min(self._best_us, float(latency[ran].min(initial=np.inf)))
        both = ran & np.isfinite(scores)
        self._errors += (np.log(latency[both]) - scores[both]).tolist()
