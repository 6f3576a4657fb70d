"""Monte Carlo tree search with UCB over the decision tree, the cost model as its rollouts.

Each batch grows the tree anew from all results so far (a node's measured rewards come back at
once), so that what an earlier model believed does not linger.  What was measured n times counts as
sqrt(n) visits: a batch can outvote it, for where the best is measured the rest may be poor.  A
simulation walks down by UCB1, with progressive widening of the children that it considers, as far
as something is known, and completes the candidate at random a few times; the best prediction is its
reward.  Simulations run in groups, and a walk counts as a visit without reward until its group is
scored (virtual loss).

A half of what is proposed is what the model likes best of the completions, and of as many random
candidates: bounds that come from a model which one basin of the landscape has taught lead back
into it.  These are seldom the best of their subtrees; so the other half are the best that is met on
climbing from them and from the best measured, one decision or two at a time.
"""

from __future__ import annotations

from math import ceil, inf, isfinite, log, sqrt

import numpy as np

from tuner.search.scored import Order, Scored, Scores, join, offered, scored, unique_rows
from tuner.search.space import IntMatrix, Pool, SketchSpace
from tuner.search.strategy import SCREENED, Score, Seen
from tuner.search.tree import Node, SortedSpace

GROUPS = 2  # of simulations in a batch; those of one group are scored together
STEPS = 4  # that the best climb; a half of what is screened goes into them
TRIES = 8  # neighbours of a climber that a step looks at
ROLLOUTS = 8  # completions of a simulation
ELITE = 32  # best measured candidates of a sketch that completions take decisions from
EXPLORATION = 0.3
WIDENING = 2.0  # a node considers WIDENING * sqrt(visits) of its children
BEST_SHARE = 0.5  # weight of the best reward below a node; the rest is the mean
SPAN = 1.4  # of log latency: what is four times slower than the best has reward 0

Path = list[Node]


class Mcts:
    """See the module; deterministic for a seed and a deterministic ``score``.

    ``seen`` is shared with another strategy that must not propose the same candidates.
    """

    name = "mcts"
    guided = True

    def __init__(
        self,
        spaces: tuple[SketchSpace, ...],
        seed: int,
        screened: int = SCREENED,
        seen: Seen | None = None,
    ) -> None:
        self._drawn = screened // 4
        self._simulations = max(1, screened // 4 // (GROUPS * ROLLOUTS))  # of a group
        self._climbers = max(1, screened // 2 // (STEPS * TRIES))
        self._rng = np.random.default_rng(seed)
        self._seen = seen or Seen(spaces, self._rng)
        self._sorted = [SortedSpace(s) for s in spaces]
        self._indices: list[list[list[int]]] = [[] for _ in spaces]
        self._log_us: list[list[float]] = [[] for _ in spaces]
        self._best = inf
        self._elite: list[IntMatrix] = [np.empty((0, len(s.choices)), np.int64) for s in spaces]

    def propose(self, n: int, score: Score | None) -> tuple[Pool, Order]:
        """``n`` new candidates, the most promising first; all random while ``score`` is None."""
        if score is None:
            pool = self._seen.random(n)
            return pool, self._rng.permutation(len(pool))
        met = self._simulate(score)
        elite = scored(self._measured_best(), score)
        climbed = self._climb(elite, met, score)
        return offered(self._seen, climbed, met, n, elite, self._rng)

    def release(self, pool: Pool) -> None:
        """Take back what nobody looked at."""
        self._seen.release(pool)

    def observe(self, sketch: int, row: IntMatrix, latency_us: float) -> None:
        """Keep the result; it counts in every node above the candidate."""
        self._indices[sketch].append(self._sorted[sketch].indices(row))
        self._log_us[sketch].append(log(latency_us) if latency_us < inf else inf)

    def _simulate(self, score: Score) -> Scored:
        """New candidates that the simulations came across, and random ones, each once."""
        self._best = min((min(s, default=inf) for s in self._log_us), default=inf)
        roots = [self._root(s) for s in range(len(self._sorted))]
        met = [scored(self._seen.unclaimed(unique_rows(self._seen.draw(self._drawn))), score)]
        for _ in range(GROUPS):
            paths = sorted(
                (self._walk(roots) for _ in range(self._simulations)), key=lambda p: p[-1].sketch
            )
            met.append(self._score(paths, score))
        return join(met).unique()

    def _climb(self, elite: Scored, met: Scored, score: Score) -> Scored:
        """``met`` and the new candidates around its best and the elite, each once."""
        everything, best = [met], join([elite, met]).best(self._climbers)
        for _ in range(STEPS):
            around = unique_rows(self._around(best.pool))
            fresh = scored(self._seen.unclaimed(around), score)
            best = join([best, fresh]).best(self._climbers)
            everything.append(fresh)
        return join(everything).unique()

    def _around(self, pool: Pool) -> Pool:
        """A few neighbours of each candidate."""
        parts = zip(self._sorted, pool.matrices, strict=True)
        return Pool(tuple(s.space.mutate(np.repeat(m, TRIES, axis=0), self._rng) for s, m in parts))

    def _measured_best(self) -> Pool:
        parts = zip(self._sorted, self._elite, strict=True)
        return Pool(tuple(s.rows(indices) for s, indices in parts))

    def _root(self, sketch: int) -> Node:
        space, log_us = self._sorted[sketch], np.array(self._log_us[sketch])
        seen = np.array(self._indices[sketch], dtype=np.int64)
        seen = seen.reshape(len(log_us), len(space.options))
        best = np.argsort(log_us, kind="stable")[:ELITE]
        self._elite[sketch] = seen[best[np.isfinite(log_us[best])]]
        first = len(space.options[0]) if space.options else 0
        return Node(space, sketch, (), 0, first, seen, self._reward(log_us))

    def _reward(self, log_us: Scores) -> Scores:
        """1 for the best measured, above for what is predicted better, 0 for failures."""
        if not isfinite(self._best):
            return np.zeros(len(log_us))
        return np.asarray(np.maximum(1 - (log_us - self._best) / SPAN, 0.0))

    def _walk(self, roots: list[Node]) -> Path:
        """From a sketch down to a node of which nothing is known; the visits are counted."""
        node = _ucb(roots)
        path = [node]
        while node.visits and not node.leaf:
            node = _ucb(node.expand(self._rng)[: ceil(WIDENING * sqrt(node.visits))])
            path.append(node)
        for node in path:
            node.visits += 1
        return path

    def _score(self, paths: list[Path], score: Score) -> Scored:
        """Complete each path, and give its nodes the best reward; what is new of the candidates."""
        ends: list[list[Node]] = [[] for _ in self._sorted]
        for path in paths:
            ends[path[-1].sketch].append(path[-1])
        pool = Pool(tuple(self._completed(s, nodes) for s, nodes in enumerate(ends)))
        new = self._seen.are_new(pool)
        fresh = scored(pool.take(new), score)
        reward = np.zeros(len(pool))
        reward[new] = self._reward(fresh.scores)
        for path, r in zip(paths, reward.reshape(-1, ROLLOUTS).max(axis=1).tolist(), strict=True):
            for node in path:
                node.total += r
                node.best = max(node.best, r)
        return fresh

    def _completed(self, sketch: int, nodes: list[Node]) -> IntMatrix:
        """``(len(nodes) * ROLLOUTS, width)``: open decisions are drawn, or taken from one of the
        best measured candidates, the share of these from none to all.
        """
        space, elite = self._sorted[sketch], self._elite[sketch]
        shape = len(nodes), 2, len(space.options)
        bounds = np.array([n.bounds() for n in nodes], dtype=np.int64).reshape(shape)
        low, high = np.repeat(bounds, ROLLOUTS, axis=0).transpose(1, 0, 2)
        drawn = self._rng.integers(low, high)
        if len(elite) and len(nodes):
            copied = elite[self._rng.integers(len(elite), size=len(drawn))]
            taken = self._rng.random(drawn.shape) < self._rng.random((len(drawn), 1))
            drawn = np.where(taken & (copied >= low) & (copied < high), copied, drawn)
        return space.rows(drawn)


def _ucb(nodes: list[Node]) -> Node:
    """The first node without a visit, else that of the highest upper confidence bound."""
    chosen, highest = nodes[0], -inf
    spread = log(1 + sum(node.visits for node in nodes))
    for node in nodes:
        if not node.visits:
            return node
        mean = node.total / node.visits
        bound = mean + BEST_SHARE * (node.best - mean) + EXPLORATION * sqrt(spread / node.visits)
        if bound > highest:
            chosen, highest = node, bound
    return chosen
