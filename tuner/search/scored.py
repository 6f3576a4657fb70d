"""Pools of candidates with their predicted latencies, as strategies sort and join them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.search.space import Pool
from tuner.search.strategy import Score, Seen

Order = NDArray[np.int64]
Scores = NDArray[np.float64]

NONE = np.empty(0)
RANDOM_EVERY = 10  # one purely random candidate in so many; keeps the model honest
DIGITS = 9  # in which the scores of one kernel in two guises agree


@dataclass(frozen=True)
class Scored:
    """Candidates and their predicted latencies, in the flat order of the pool."""

    pool: Pool
    scores: Scores

    def where(self, mask: NDArray[np.bool_]) -> Scored:
        return Scored(self.pool.take(mask), self.scores[mask])

    def best(self, n: int, known: Scores = NONE) -> Scored:
        """The best ``n``, in the pool's order; repeated scores, and ``known`` ones, last."""
        mask = np.zeros(len(self.scores), dtype=bool)
        mask[distinct_first(self.scores, known)[:n]] = True
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


def claimed(seen: Seen, candidates: Scored, n: int, elite: Scored) -> Scored:
    """The best ``n`` that nobody was offered yet; they are offered now.

    What scores as one of the ``elite`` is mostly that kernel in another guise: it comes last.
    """
    best = candidates.where(seen.are_new(candidates.pool)).best(n, elite.scores)
    seen.claim(best.pool)
    return best


def offered(
    seen: Seen, first: Scored, second: Scored, n: int, elite: Scored, rng: np.random.Generator
) -> tuple[Pool, Order]:
    """``n`` candidates and their order: a half of the best of ``first``, nearly a half of the best
    of ``second``, the rest at random.
    """
    best = claimed(seen, first, n // 2, elite)
    others = claimed(seen, second, max(0, n // 2 - 1), elite)
    explored = unscored(seen.random(n - len(best.pool) - len(others.pool)))
    origins = origins_of(best.pool, others.pool, explored.pool)
    chosen = join([best, others, explored])
    return chosen.pool, in_turns(chosen.scores, elite.scores, origins, rng)


def unscored(pool: Pool) -> Scored:
    """What is taken at random, whatever the model says of it."""
    return Scored(pool, np.full(len(pool), np.inf))


def join(parts: Sequence[Scored]) -> Scored:
    """Concatenate; the flat order groups by sketch, and the scores follow it."""
    pools = [p.pool for p in parts]
    scores = np.concatenate([p.scores for p in parts])
    sketch = np.concatenate([p.sketches() for p in pools])
    return Scored(Pool.concat(pools), scores[np.argsort(sketch, kind="stable")])


def distinct_first(scores: Scores, known: Scores = NONE) -> Order:
    """Indices by score, the first of each distinct score before all repetitions; to repeat a
    ``known`` one counts as well.
    """
    order = np.argsort(scores, kind="stable")
    values, first = np.unique(np.round(scores[order], DIGITS), return_index=True)
    repeated = np.ones(len(order), dtype=bool)
    repeated[first] = np.isin(values, np.round(known, DIGITS))
    return np.concatenate([order[~repeated], order[repeated]])


def in_turns(
    scores: Scores, known: Scores, origin: NDArray[np.int64], rng: np.random.Generator
) -> Order:
    """Flat indices: those of origin 0 and of origin 1 in turn, by score, as :func:`distinct_first`;
    now and then one of origin 2, at random.
    """
    order = distinct_first(scores, known)
    first, second = order[origin[order] == 0], order[origin[order] == 1]
    other = rng.permutation(np.flatnonzero(origin == 2))
    places = [
        np.arange(len(first), dtype=np.float64),
        np.arange(len(second)) + 0.5,
        (np.arange(len(other)) + 1) * (RANDOM_EVERY - 1) / 2 - 0.25,
    ]
    return np.concatenate([first, second, other])[np.argsort(np.concatenate(places))]


def unique_rows(pool: Pool) -> Pool:
    """The candidates of ``pool``, each once, sorted."""
    return Pool(tuple(np.unique(m, axis=0) for m in pool.matrices))


def origins_of(*pools: Pool) -> NDArray[np.int64]:
    """For each candidate of ``Pool.concat(pools)`` which of them it comes from."""
    of_sketch = zip(*(p.matrices for p in pools), strict=True)
    parts = [np.repeat(np.arange(len(group)), [len(m) for m in group]) for group in of_sketch]
    return np.concatenate(parts)
