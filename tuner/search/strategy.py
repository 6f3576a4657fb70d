"""The one interface of search strategies, and their registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tuner.search.space import IntMatrix, Pool, SketchSpace

# Random candidates that a strategy has the model screen in each round: many where tables come
# by the column, few where every one of them is a replay.
SCREENED, SCREENED_BY_REPLAY = 2048, 128
ENUMERABLE = 20_000  # sketches up to this size are enumerated when sampling finds nothing new

Score = Callable[[Pool], NDArray[np.float64]]


class SearchError(ValueError):
    """A strategy that a space is not fit for; the message is one line for the user."""


class Strategy(Protocol):
    """Proposes batches of candidates that it never proposed before, unless they were released.

    ``score`` predicts the logarithm of each candidate's latency in us, ``None`` while nothing was
    measured.  The order of what is proposed is the order of preference.  ``guided`` says whether
    the preferred ones are the best that ``score`` knows of: if a gate lets none of these pass, the
    search has converged; of any others that says nothing.
    """

    name: str
    guided: bool

    def propose(self, n: int, score: Score | None) -> tuple[Pool, NDArray[np.int64]]:
        """Up to ``n`` new candidates, and their flat indices in order of preference.  An empty pool
        says that the space is exhausted.
        """
        ...

    def release(self, pool: Pool) -> None:
        """Take back proposed candidates that nobody looked at; they may be proposed again."""
        ...

    def observe(self, sketch: int, row: IntMatrix, latency_us: float) -> None:
        """Learn one result: a measured latency, or ``inf`` for a failed or pruned candidate."""
        ...


class Seen:
    """The candidates proposed so far; draws fresh ones and notices when there are none left."""

    def __init__(self, spaces: tuple[SketchSpace, ...], rng: np.random.Generator) -> None:
        self.spaces = spaces
        self._rng = rng
        self._keys: set[tuple[int, bytes]] = set()
        self._sizes = np.array([s.size for s in spaces], dtype=np.float64)
        self._claimed = np.zeros(len(spaces))

    def claim(self, pool: Pool) -> Pool:
        """The candidates of ``pool`` never claimed before, each once; they are claimed now."""
        mask = np.zeros(len(pool), dtype=bool)
        for i, key in enumerate(pool.identities()):
            mask[i] = key not in self._keys
            self._keys.add(key)
        fresh = pool.take(mask)
        self._claimed += [len(m) for m in fresh.matrices]
        return fresh

    def are_new(self, pool: Pool) -> NDArray[np.bool_]:
        """Which candidates of ``pool`` are not claimed yet."""
        return np.array([key not in self._keys for key in pool.identities()], dtype=bool)

    def unclaimed(self, pool: Pool) -> Pool:
        """The candidates of ``pool`` not claimed yet."""
        return pool.take(self.are_new(pool))

    def random(self, n: int) -> Pool:
        """Claim up to ``n`` random candidates, the sketches with equal chances.

        Fewer come back only when the space is nearly exhausted; a sketch that is small, or half
        claimed, is then enumerated, so that its last candidates are found as well.
        """
        pools = [self.empty()]
        for _ in range(4):
            missing = n - sum(map(len, pools))
            if missing > 0:
                pools.append(self.claim(self.draw(missing)))
        missing = n - sum(map(len, pools))
        if missing > 0:
            rest = self._rest()
            pools.append(self.claim(rest.take(self._rng.permutation(len(rest)) < missing)))
        return Pool.concat(pools)

    def _rest(self) -> Pool:
        """All that is not claimed of the sketches that are small or half claimed."""
        found = list(self.empty().matrices)
        for i in np.flatnonzero(self._sizes <= np.maximum(ENUMERABLE, 2 * self._claimed)):
            if self._claimed[i] < self._sizes[i]:
                found[i] = self.spaces[i].enumerate()
        return self.unclaimed(Pool(tuple(found)))

    def draw(self, n: int) -> Pool:
        """``n`` random candidates, the sketches that have any left with equal chances; nothing is
        claimed.
        """
        left = np.flatnonzero(self._claimed < self._sizes)
        if not len(left):
            return self.empty()
        of_sketch = left[self._rng.integers(len(left), size=n)]
        counts = np.bincount(of_sketch, minlength=len(self.spaces))
        drawn = (s.sample(int(c), self._rng) for s, c in zip(self.spaces, counts, strict=True))
        return Pool(tuple(drawn))

    def release(self, pool: Pool) -> None:
        """Forget that the candidates of ``pool`` were claimed."""
        claimed = pool.take(~self.are_new(pool))
        self._keys.difference_update(claimed.identities())
        self._claimed -= [len(m) for m in claimed.matrices]

    def empty(self) -> Pool:
        """A pool of no candidates."""
        return Pool(tuple(np.empty((0, s.width), dtype=np.int64) for s in self.spaces))
