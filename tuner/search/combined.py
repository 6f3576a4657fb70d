"""Evolutionary search and MCTS together: what one finds the other learns from.

Each proposes a share of the batch, and nothing that the other has proposed.  The shares follow
success: a measured candidate that comes among the best ten so far is a hit for the one that
proposed it, and old hits and misses fade, so that the one that stops improving gives way.
"""

from __future__ import annotations

from bisect import insort

import numpy as np

from tuner.search.evolutionary import Evolutionary
from tuner.search.mcts import Mcts
from tuner.search.scored import Order
from tuner.search.space import IntMatrix, Pool, SketchSpace
from tuner.search.strategy import SCREENED, Score, Seen, Strategy

TOP = 10  # best latencies that a hit has to come among
FADE = 0.9  # weight of what was known before, from one proposal to the next
LEAST = 0.2  # share of the batch that each keeps, to be heard again


class Combined:
    """See the module; deterministic for a seed and a deterministic ``score``."""

    name = "combined"
    guided = True

    def __init__(
        self, spaces: tuple[SketchSpace, ...], seed: int, screened: int = SCREENED
    ) -> None:
        self._seen = Seen(spaces, np.random.default_rng(seed))
        half = screened // 2
        self._parts: tuple[Strategy, Strategy] = (
            Evolutionary(spaces, seed, half, self._seen),
            Mcts(spaces, seed, half, self._seen),
        )
        self._owner: dict[tuple[int, bytes], int] = {}
        self._hits, self._tries = np.zeros(2), np.zeros(2)
        self._top: list[float] = []

    @property
    def shares(self) -> tuple[float, float]:
        """Of evolutionary search and of MCTS; their sum is 1."""
        rate = (self._hits + 1) / (self._tries + 2)
        first = float(np.clip(rate[0] / rate.sum(), LEAST, 1 - LEAST))
        return first, 1 - first

    def propose(self, n: int, score: Score | None) -> tuple[Pool, Order]:
        """``n`` new candidates, the two strategies' in turn by their shares."""
        first, _ = self.shares
        counts = [round(n * first), n - round(n * first)]
        found = [p.propose(c, score) for p, c in zip(self._parts, counts, strict=True)]
        for part, (pool, _) in enumerate(found):
            self._owner.update(dict.fromkeys(pool.identities(), part))
        self._hits *= FADE
        self._tries *= FADE
        return _merged(found)

    def release(self, pool: Pool) -> None:
        """Take back what nobody looked at."""
        self._seen.release(pool)
        for key in pool.identities():
            del self._owner[key]

    def observe(self, sketch: int, row: IntMatrix, latency_us: float) -> None:
        """Both learn; the one that proposed the candidate has a hit or a miss."""
        for part in self._parts:
            part.observe(sketch, row, latency_us)
        owner = self._owner.pop((sketch, row.tobytes()), None)
        insort(self._top, latency_us)
        hit = latency_us in self._top[:TOP] and np.isfinite(latency_us)
        del self._top[TOP:]
        if owner is not None:
            self._tries[owner] += 1
            self._hits[owner] += hit


def _merged(found: list[tuple[Pool, Order]]) -> tuple[Pool, Order]:
    """Pools joined, and their orders dovetailed: each spreads evenly over the whole."""
    pool = Pool.concat([p for p, _ in found])
    sketch = np.concatenate([p.sketches() for p, _ in found])
    place = np.empty(len(pool), dtype=np.int64)
    place[np.argsort(sketch, kind="stable")] = np.arange(len(pool))  # of each in the joined pool
    offsets = np.cumsum([0, *(len(p) for p, _ in found)])
    turns = [(np.arange(len(order)) + 0.5) / max(1, len(order)) for _, order in found]
    mine = [order + offset for (_, order), offset in zip(found, offsets, strict=False)]
    return pool, place[np.concatenate(mine)[np.argsort(np.concatenate(turns), kind="stable")]]
