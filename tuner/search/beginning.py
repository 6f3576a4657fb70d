"""A search that begins with given candidates, whatever strategy it goes on with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.search.space import IntMatrix, Pool
from tuner.search.strategy import Score, Strategy


class Beginning:
    """Proposes ``first`` before anything else, in the pool's order; then ``strategy`` has its turn.

    The strategy learns what became of them, and what it proposes of them itself is left out.
    """

    def __init__(self, strategy: Strategy, first: Pool) -> None:
        self._strategy, self._waiting = strategy, first
        self._given = set(first.identities())
        self.name, self.guided = strategy.name, strategy.guided

    def propose(self, n: int, score: Score | None) -> tuple[Pool, NDArray[np.int64]]:
        """What it begins with, however many they are; later ``n`` of the strategy's."""
        if len(self._waiting):
            pool, self._waiting = (
                self._waiting,
                self._waiting.take(np.zeros(len(self._waiting), bool)),
            )
            return pool, np.arange(len(pool))
        while True:
            pool, order = self._strategy.propose(n, score)
            new = ~self._mine(pool)
            if new.any() or not len(pool):
                places = np.cumsum(new) - 1
                return pool.take(new), places[order[new[order]]]

    def release(self, pool: Pool) -> None:
        """Take back what nobody looked at; what it begins with comes first again."""
        mine = self._mine(pool)
        if mine.any():
            self._waiting = pool.take(mine)
        self._strategy.release(pool.take(~mine))

    def observe(self, sketch: int, row: IntMatrix, latency_us: float) -> None:
        """The strategy learns it."""
        self._strategy.observe(sketch, row, latency_us)

    def _mine(self, pool: Pool) -> NDArray[np.bool_]:
        return np.array([key in self._given for key in pool.identities()], dtype=bool)
