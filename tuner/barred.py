"""What hard limits barred in a run: to be offered again where a limit turns out to lie higher."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pruner.trial import TrialStage
from tuner.decisions import IntColumn
from tuner.offers import Offer
from tuner.problem import Problem
from tuner.search import Pool


@dataclass
class Barred:
    """Candidates by sketch, as decision rows."""

    problem: Problem
    _rows: dict[int, list[IntColumn]] = field(default_factory=dict)

    def add(self, offer: Offer) -> None:
        """Remember the offer if a hard limit prunes it."""
        if offer.pruned and offer.place >= 0 and np.isinf(offer.penalty_us):
            self._rows.setdefault(offer.sketch, []).append(offer.row)

    def freed(self, stage: TrialStage) -> Pool:
        """Those that no hard limit bars any longer; they are forgotten here."""
        pool = Pool(tuple(self._of(i, s.width) for i, s in enumerate(self.problem.sketches)))
        free = np.isfinite(stage.draft(self.problem.kernels(pool)))
        self._rows.clear()
        for i in np.flatnonzero(~free):
            sketch, row = pool.locate(int(i))
            self._rows.setdefault(sketch, []).append(row)
        return pool.take(free)

    def _of(self, sketch: int, width: int) -> np.ndarray:
        return np.array(self._rows.get(sketch, []), np.int64).reshape(-1, width)
