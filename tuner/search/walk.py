"""What strategies that walk through the numbers of a space have in common."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from tuner.search.numbering import Numbering, Ranks
from tuner.search.space import IntMatrix, Pool, SketchSpace
from tuner.search.strategy import Score


class Walk:
    """Visits every candidate once, step by step; learns nothing from results.

    A subclass says where step ``i`` leads: :meth:`at`.  What is released is proposed again first,
    in the order of the walk.
    """

    guided = False

    def __init__(self, spaces: tuple[SketchSpace, ...]) -> None:
        self._numbering = Numbering(spaces)
        self._size = self._numbering.size
        self._next = 0
        self._released: list[int] = []  # a heap of steps

    def at(self, steps: Ranks) -> Ranks:
        """Numbers of the candidates that ``steps`` ``(n,)`` lead to; one-to-one."""
        raise NotImplementedError

    def step_of(self, ranks: Ranks) -> Ranks:
        """The steps that lead to candidates: the inverse of :meth:`at`."""
        raise NotImplementedError

    def propose(self, n: int, score: Score | None) -> tuple[Pool, NDArray[np.int64]]:
        """The next ``n`` candidates of the walk; ``score`` is ignored."""
        again = [heapq.heappop(self._released) for _ in range(min(n, len(self._released)))]
        stop = min(self._next + n - len(again), self._size)
        steps = np.array([*again, *range(self._next, stop)], dtype=np.int64)
        self._next = stop
        ranks = self.at(steps)
        ascending = np.sort(ranks)
        return self._numbering.pool(ascending), np.searchsorted(ascending, ranks)

    def release(self, pool: Pool) -> None:
        """Take back what nobody looked at."""
        for step in self.step_of(self._numbering.ranks(pool)).tolist():
            heapq.heappush(self._released, step)

    def observe(self, sketch: int, row: IntMatrix, latency_us: float) -> None:
        """Nothing to learn."""
