"""Evolutionary search on decision vectors, fitness from the cost model (as Ansor and MetaSchedule).

A third of what is proposed descends from the best measured candidates, by crossover and mutation
over a few generations; a third is what the model likes best in a large fresh random sample, since a
model taught by one basin of the landscape breeds only into it; the rest is random.  Candidates with
the same predicted latency are mostly the same kernel in another guise: only one of them comes
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.search.space import IntMatrix, Pool, SketchSpace
from tuner.search.strategy import SCREENED, Score, Seen

GENERATIONS = 3
ELITE = 32  # measured candidates that every population starts from
POPULATION_SHARE = 8  # of what is screened
RANDOM_EVERY = 10  # one purely random candidate in so many; keeps the model honest
CROSSOVER_SHARE = 0.3

Order = NDArray[np.int64]
Scores = NDArray[np.float64]


class Evolutionary:
    """See the module; deterministic for a seed and a deterministic ``score``."""

    name = "evolutionary"

    def __init__(
        self, spaces: tuple[SketchSpace, ...], seed: int, screened: int = SCREENED
    ) -> None:
        self._screened, self._population = screened, screened // POPULATION_SHARE
        self._rng = np.random.default_rng(seed)
        self._seen = Seen(spaces, self._rng)
        self._spaces = spaces
        self._measured: list[tuple[float, int, IntMatrix]] = []

    def propose(self, n: int, score: Score | None) -> tuple[Pool, Order]:
        """``n`` new candidates, the most promising first; all random while ``score`` is None."""
        if score is None:
            pool = self._seen.random(n)
            return pool, self._rng.permutation(len(pool))
        screened = _scored(self._seen.unclaimed(_unique(self._seen.draw(self._screened))), score)
        bred = self._claim(self._breed(score, screened), n // 2)
        found = self._claim(screened, n // 2 - 1)
        explored = _scored(self._seen.random(n - len(bred.pool) - len(found.pool)), score)
        origins = _origins(bred.pool, found.pool, explored.pool)
        chosen = _join([bred, found, explored])
        return chosen.pool, self._interleave(chosen.scores, origins)

    def release(self, pool: Pool) -> None:
        """Take back what nobody looked at."""
        self._seen.release(pool)

    def observe(self, sketch: int, row: IntMatrix, latency_us: float) -> None:
        """Keep the best measured candidates as parents."""
        if np.isfinite(latency_us):
            self._measured.append((latency_us, sketch, row))
            self._measured.sort(key=lambda m: m[0])
            del self._measured[ELITE:]

    def _interleave(self, scores: Scores, origin: NDArray[np.int64]) -> Order:
        """Flat indices: bred and screened ones in turn, by score; now and then a random one."""
        order = _distinct_first(scores)
        bred, found = order[origin[order] == 0], order[origin[order] == 1]
        other = self._rng.permutation(np.flatnonzero(origin == 2))
        places = [
            np.arange(len(bred), dtype=np.float64),
            np.arange(len(found)) + 0.5,
            (np.arange(len(other)) + 1) * (RANDOM_EVERY - 1) / 2 - 0.25,
        ]
        return np.concatenate([bred, found, other])[np.argsort(np.concatenate(places))]

    def _claim(self, candidates: _Scored, n: int) -> _Scored:
        """The best ``n`` that nobody was offered yet; they are offered now."""
        best = candidates.where(self._seen.are_new(candidates.pool)).best(n)
        self._seen.claim(best.pool)
        return best

    def _breed(self, score: Score, screened: _Scored) -> _Scored:
        """All that a few generations came across, from the elite and the best screened ones."""
        elite = _scored(self._elite(), score)
        population = _join([elite, screened.best(self._population // 2)])
        met = [population]
        for _ in range(GENERATIONS):
            children = _scored(_unique(self._children(population.pool)), score)
            population = _join([population, children]).best(self._population // 2)
            met.append(children)
        return _join(met).unique()

    def _elite(self) -> Pool:
        rows: list[list[IntMatrix]] = [[] for _ in self._spaces]
        for _, sketch, row in self._measured:
            rows[sketch].append(row)
        return Pool(
            tuple(
                np.array(r, dtype=np.int64).reshape(len(r), s.width)
                for r, s in zip(rows, self._spaces, strict=True)
            )
        )

    def _children(self, population: Pool) -> Pool:
        share = self._population / max(1, len(population))
        return Pool(
            tuple(
                self._offspring(space, parents, round(len(parents) * share))
                for space, parents in zip(self._spaces, population.matrices, strict=True)
            )
        )

    def _offspring(self, space: SketchSpace, parents: IntMatrix, count: int) -> IntMatrix:
        if not len(parents):
            return parents
        a = parents[self._rng.integers(len(parents), size=count)]
        b = parents[self._rng.integers(len(parents), size=count)]
        mixed = self._rng.random(count) < CROSSOVER_SHARE
        crossed = np.where(mixed[:, None], space.crossover(a, b, self._rng), a)
        return space.mutate(crossed, self._rng)


def _origins(*pools: Pool) -> NDArray[np.int64]:
    """For each candidate of ``Pool.concat(pools)`` which of them it comes from."""
    of_sketch = zip(*(p.matrices for p in pools), strict=True)
    parts = [np.repeat(np.arange(len(group)), [len(m) for m in group]) for group in of_sketch]
    return np.concatenate(parts)


@dataclass(frozen=True)
class _Scored:
    """Candidates and their predicted latencies, in the flat order of the pool."""

    pool: Pool
    scores: Scores

    def where(self, mask: NDArray[np.bool_]) -> _Scored:
        return _Scored(self.pool.take(mask), self.scores[mask])

    def best(self, n: int) -> _Scored:
        """The best ``n``, in the pool's order; repeated scores last."""
        mask = np.zeros(len(self.scores), dtype=bool)
        mask[_distinct_first(self.scores)[:n]] = True
        return self.where(mask)

    def unique(self) -> _Scored:
        """Each candidate once."""
        keys = self.pool.identities()
        first = {key: i for i, key in reversed(list(enumerate(keys)))}
        mask = np.zeros(len(keys), dtype=bool)
        mask[list(first.values())] = True
        return self.where(mask)


def _scored(pool: Pool, score: Score) -> _Scored:
    return _Scored(pool, score(pool))


def _join(parts: Sequence[_Scored]) -> _Scored:
    """Concatenate; the flat order groups by sketch, and the scores follow it."""
    pools = [p.pool for p in parts]
    scores = np.concatenate([p.scores for p in parts])
    sketch = np.concatenate([p.sketches() for p in pools])
    return _Scored(Pool.concat(pools), scores[np.argsort(sketch, kind="stable")])


def _distinct_first(scores: Scores) -> Order:
    """Indices by score, the first of each distinct score before all repetitions."""
    order = np.argsort(scores, kind="stable")
    _, first = np.unique(np.round(scores[order], 9), return_index=True)
    repeated = np.ones(len(order), dtype=bool)
    repeated[first] = False
    return np.concatenate([order[~repeated], order[repeated]])


def _unique(pool: Pool) -> Pool:
    return Pool(tuple(np.unique(m, axis=0) for m in pool.matrices))
