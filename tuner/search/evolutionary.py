"""Evolutionary search on decision vectors, fitness from the cost model (as Ansor and MetaSchedule).

A generation is made from the best measured candidates and fresh random ones by crossover and
mutation; the cost model ranks it, the best survive.  What is proposed is the best of all
generations that was never proposed before, with a share of random candidates mixed in.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.search.space import IntMatrix, Pool, SketchSpace
from tuner.search.strategy import Score, Seen

GENERATIONS = 4
POPULATION = 256
ELITE = 32  # measured candidates that every population starts from
RANDOM_SHARE = 0.1  # of what is proposed; keeps exploring when the model is wrong
CROSSOVER_SHARE = 0.3


class Evolutionary:
    """See the module; deterministic for a seed and a deterministic ``score``."""

    name = "evolutionary"

    def __init__(self, spaces: tuple[SketchSpace, ...], seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._seen = Seen(spaces, self._rng)
        self._spaces = spaces
        self._measured: list[tuple[float, int, IntMatrix]] = []

    def propose(self, n: int, score: Score | None) -> tuple[Pool, NDArray[np.int64]]:
        """``n`` new candidates, the most promising first; all random while ``score`` is None."""
        if score is None:
            pool = self._seen.random(n)
            return pool, self._rng.permutation(len(pool))
        n_random = max(1, round(n * RANDOM_SHARE))
        bred = self._breed(n - n_random, score)
        explored = self._seen.random(n - len(bred))
        pool = Pool.concat([bred, explored])
        return pool, self._interleave(score(pool), _origin(bred, explored))

    def observe(self, sketch: int, row: IntMatrix, latency_us: float) -> None:
        """Keep the best measured candidates as parents."""
        if np.isfinite(latency_us):
            self._measured.append((latency_us, sketch, row))
            self._measured.sort(key=lambda m: m[0])
            del self._measured[ELITE:]

    def _interleave(
        self, scores: NDArray[np.float64], is_random: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Flat indices: bred candidates by score, a random one at every tenth place."""
        order = np.argsort(scores, kind="stable")
        bred, other = order[~is_random[order]], self._rng.permutation(np.flatnonzero(is_random))
        places = [np.arange(len(bred)) * RANDOM_SHARE, np.arange(len(other)) + 1 - RANDOM_SHARE / 2]
        return np.concatenate([bred, other])[np.argsort(np.concatenate(places), kind="stable")]

    def _breed(self, n: int, score: Score) -> Pool:
        """Up to ``n`` unclaimed candidates: the best that the generations came across."""
        population = Pool.concat([self._elite(), self._seen.draw(POPULATION // 4)])
        met = [population]
        for _ in range(GENERATIONS):
            children = self._children(population)
            both = Pool.concat([population, children])
            population = _best(both, score(both), POPULATION // 2)
            met.append(children)
        fresh = self._seen.unclaimed(_unique(Pool.concat(met)))
        return self._seen.claim(_best(fresh, score(fresh), n))

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
        out = []
        share = POPULATION / max(1, len(population))
        for space, parents in zip(self._spaces, population.matrices, strict=True):
            count = round(len(parents) * share)
            if not len(parents):
                out.append(parents)
                continue
            a = parents[self._rng.integers(len(parents), size=count)]
            b = parents[self._rng.integers(len(parents), size=count)]
            mixed = self._rng.random(count) < CROSSOVER_SHARE
            crossed = np.where(mixed[:, None], space.crossover(a, b, self._rng), a)
            out.append(space.mutate(crossed, self._rng))
        return Pool(tuple(out))


def _origin(bred: Pool, explored: Pool) -> NDArray[np.bool_]:
    """For each candidate of ``Pool.concat([bred, explored])`` whether it is an explored one."""
    pairs = zip(bred.matrices, explored.matrices, strict=True)
    return np.concatenate([np.arange(len(b) + len(e)) >= len(b) for b, e in pairs])


def _best(pool: Pool, scores: NDArray[np.float64], n: int) -> Pool:
    mask = np.zeros(len(pool), dtype=bool)
    mask[np.argsort(scores, kind="stable")[:n]] = True
    return pool.take(mask)


def _unique(pool: Pool) -> Pool:
    return Pool(tuple(np.unique(m, axis=0) for m in pool.matrices))
