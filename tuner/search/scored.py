"""Pools of candidates with their predicted latencies, as strategies sort and join them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.search.space import Pool
from tuner.search.strategy import Score

Order = NDArray[np.int64]
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Scored:
    """Candidates and their predicted latencies, in the flat order of the pool."""

    pool: Pool
    scores: Scores

    def where(self, mask: NDArray[np.bool_]) -> Scored:
        return Scored(self.pool.take(mask), self.scores[mask])

    def best(self, n: int) -> Scored:
        """The best ``n``, in the pool's order; repeated scores last."""
        mask = np.zeros(len(self.scores), dtype=bool)
        mask[distinct_first(self.scores)[:n]] = True
        return self.where(mask)

    def unique(self) -> Scored:
        """Each candidate once."""
        keys = self.pool.identities()
        first = {key: i for i, key in reversed(list(enumerate(keys)))}
        mask = np.zeros(len(keys), dtype=bool)
        mask[list(first.values())] = True
        return self.where(mask)


def scored(pool: Pool, score: Score) -> Scored:
    """A pool with what ``score`` says of it."""
    return Scored(pool, score(pool))


def join(parts: Sequence[Scored]) -> Scored:
    """Concatenate; the flat order groups by sketch, and the scores follow it."""
    pools = [p.pool for p in parts]
    scores = np.concatenate([p.scores for p in parts])
    sketch = np.concatenate([p.sketches() for p in pools])
    return Scored(Pool.concat(pools), scores[np.argsort(sketch, kind="stable")])


def distinct_first(scores: Scores) -> Order:
    """Indices by score, the first of each distinct score before all repetitions."""
    order = np.argsort(scores, kind="stable")
    _, first = np.unique(np.round(scores[order], 9), return_index=True)
    repeated = np.ones(len(order), dtype=bool)
    repeated[first] = False
    return np.concatenate([order[~repeated], order[repeated]])


def unique_rows(pool: Pool) -> Pool:
    """The candidates of ``pool``, each once, sorted."""
    return Pool(tuple(np.unique(m, axis=0) for m in pool.matrices))


def origins_of(*pools: Pool) -> NDArray[np.int64]:
    """For each candidate of ``Pool.concat(pools)`` which of them it comes from."""
    of_sketch = zip(*(p.matrices for p in pools), strict=True)
    parts = [np.repeat(np.arange(len(group)), [len(m) for m in group]) for group in of_sketch]
    return np.concatenate(parts)
