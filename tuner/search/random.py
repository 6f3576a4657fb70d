"""Uniform random search: the strategy every other one has to beat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.search.space import IntMatrix, Pool, SketchSpace
from tuner.search.strategy import SCREENED, Score, Seen


class RandomSearch:
    """Proposes candidates in random order and learns nothing; nothing is ``screened``."""

    name = "random"
    guided = False

    def __init__(
        self, spaces: tuple[SketchSpace, ...], seed: int, screened: int = SCREENED
    ) -> None:
        self._rng = np.random.default_rng(seed)
        self._seen = Seen(spaces, self._rng)

    def propose(self, n: int, score: Score | None) -> tuple[Pool, NDArray[np.int64]]:
        """``n`` new candidates in random order; ``score`` is ignored."""
        pool = self._seen.random(n)
        return pool, self._rng.permutation(len(pool))

    def release(self, pool: Pool) -> None:
        """Take back what nobody looked at."""
        self._seen.release(pool)

    def observe(self, sketch: int, row: IntMatrix, latency_us: float) -> None:
        """Nothing to learn."""
