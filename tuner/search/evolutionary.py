"""Evolutionary search on decision vectors, fitness from the cost model (as Ansor and MetaSchedule).

A half of what is proposed descends from the best measured candidates, by crossover and mutation
over four generations of 512, as MetaSchedule's; nearly a half is what the model likes best in a
fresh random sample, since a model taught by one basin of the landscape breeds only into it; the
rest is random.  Candidates with the same predicted latency are mostly the same kernel in another
guise: only one of them comes first, and none that looks like one of the best measured.
"""

from __future__ import annotations

import numpy as np

from tuner.search.scored import Order, Scored, join, offered, scored, unique_rows
from tuner.search.space import IntMatrix, Pool, SketchSpace
from tuner.search.strategy import SCREENED, Score, Seen

GENERATIONS = 4  # a population each; a half of what is screened is drawn at random
ELITE = 32  # measured candidates that every population starts from
POPULATION_SHARE = 4  # of what is screened
CROSSOVER_SHARE = 0.3


class Evolutionary:
    """See the module; deterministic for a seed and a deterministic ``score``.

    ``seen`` is shared with another strategy that must not propose the same candidates.
    """

    name = "evolutionary"
    guided = True

    def __init__(
        self,
        spaces: tuple[SketchSpace, ...],
        seed: int,
        screened: int = SCREENED,
        seen: Seen | None = None,
    ) -> None:
        self._screened, self._population = screened, screened // POPULATION_SHARE
        self._rng = np.random.default_rng(seed)
        self._seen = seen or Seen(spaces, self._rng)
        self._spaces = spaces
        self._measured: list[tuple[float, int, IntMatrix]] = []

    def propose(self, n: int, score: Score | None) -> tuple[Pool, Order]:
        """``n`` new candidates, the most promising first; all random while ``score`` is None."""
        if score is None:
            pool = self._seen.random(n)
            return pool, self._rng.permutation(len(pool))
        drawn = unique_rows(self._seen.draw(self._screened // 2))
        screened = scored(self._seen.unclaimed(drawn), score)
        elite = scored(self._elite(), score)
        bred = self._breed(score, elite, screened)
        return offered(self._seen, bred, screened, n, elite, self._rng)

    def release(self, pool: Pool) -> None:
        """Take back what nobody looked at."""
        self._seen.release(pool)

    def observe(self, sketch: int, row: IntMatrix, latency_us: float) -> None:
        """Keep the best measured candidates as parents."""
        if np.isfinite(latency_us):
            self._measured.append((latency_us, sketch, row))
            self._measured.sort(key=lambda m: m[0])
            del self._measured[ELITE:]

    def _breed(self, score: Score, elite: Scored, screened: Scored) -> Scored:
        """All that a few generations came across, from the elite and the best screened ones."""
        population = join([elite, screened.best(self._population // 2)])
        met = [population]
        for _ in range(GENERATIONS):
            children = scored(unique_rows(self._children(population.pool)), score)
            population = join([population, children]).best(self._population // 2)
            met.append(children)
        return join(met).unique()

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
