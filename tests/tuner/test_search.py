"""Strategies propose valid candidates, never twice, stop when a space ends, and learn."""

import numpy as np
import pytest

from tuner.factors import factorisations
from tuner.search import STRATEGIES, Beginning, Choice, Pool, SketchSpace


def space(extent: int = 64, parts: int = 3, lanes: int = 4) -> SketchSpace:
    tile = Choice("i", 0, factorisations(extent, parts, 64), tile=True)
    vector = Choice("v", parts, np.arange(lanes).reshape(-1, 1), tile=False)
    return SketchSpace((tile, vector))


SPACES = (space(), space(60, 2, 3))


def cost(pool: Pool) -> np.ndarray:
    """Log latencies: smooth, with the optimum at the most even tiling and the widest vector."""

    def of(m: np.ndarray) -> np.ndarray:
        return np.log2(m[:, :-1]).std(axis=1) - m[:, -1]

    return np.concatenate([of(m) for m in pool.matrices])


def test_sampling_and_enumeration_agree() -> None:
    s = space()
    everything = {r.tobytes() for r in s.enumerate()}
    assert len(everything) == s.size
    drawn = s.sample(2000, np.random.default_rng(0))
    assert {r.tobytes() for r in drawn} <= everything
    assert (drawn[:, :3].prod(axis=1) == 64).all()


def test_mutation_and_crossover_stay_within_the_options() -> None:
    s = space(extent=720)
    rng = np.random.default_rng(1)
    everything = {r.tobytes() for r in s.enumerate()}
    a, b = s.sample(300, rng), s.sample(300, rng)
    changed = s.mutate(a, rng)
    assert {r.tobytes() for r in changed} <= everything
    assert (changed != a).any(axis=1).mean() > 0.8
    assert {r.tobytes() for r in s.crossover(a, b, rng)} <= everything


def test_mutation_respects_pruned_options() -> None:
    options = factorisations(64, 3, 64)
    s = SketchSpace((Choice("i", 0, options[options[:, 2] >= 8], tile=True),))
    rng = np.random.default_rng(2)
    assert (s.mutate(s.sample(200, rng), rng)[:, 2] >= 8).all()


def test_a_search_begins_with_what_it_is_given_and_never_proposes_it_again() -> None:
    small = (space(4, 2, 2),)
    first = Pool((small[0].enumerate()[[1, 3]],))
    strategy = Beginning(STRATEGIES["random"](small, seed=0), first)
    pool, order = strategy.propose(1, None)
    assert pool.identities() == first.identities()
    assert order.tolist() == [0, 1]
    strategy.release(pool.take(np.array([False, True])))
    again, _ = strategy.propose(1, None)
    assert again.identities() == first.identities()[1:]
    rest = [strategy.propose(2, None) for _ in range(small[0].size)]
    assert all(sorted(order) == list(range(len(pool))) for pool, order in rest)
    offered = [key for pool, _ in rest for key in pool.identities()]
    everything = Pool((small[0].enumerate(),)).identities()
    assert sorted(offered + first.identities()) == sorted(everything)


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_never_proposes_twice_and_exhausts_a_small_space(name: str) -> None:
    strategy = STRATEGIES[name](SPACES, seed=3)
    seen: set[tuple[int, bytes]] = set()
    for step in range(100):
        pool, order = strategy.propose(32, cost if step else None)
        if not len(pool):
            break
        assert sorted(order) == list(range(len(pool)))
        keys = set(pool.identities())
        assert len(keys) == len(pool)
        assert not keys & seen
        seen |= keys
        for i in order[:8]:
            sketch, row = pool.locate(int(i))
            strategy.observe(sketch, row, float(row.sum()))
    assert len(seen) == sum(s.size for s in SPACES)


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_same_seed_same_proposals(name: str) -> None:
    def run() -> list[tuple[int, bytes]]:
        strategy = STRATEGIES[name](SPACES, seed=7)
        keys = []
        for _ in range(3):
            pool, order = strategy.propose(16, cost)
            keys += [pool.identities()[i] for i in order]
        return keys

    assert run() == run()


def test_what_learns_finds_better_candidates_of_a_large_space_than_random() -> None:
    tiles = [factorisations(2**10, 5, 64), factorisations(2**9 * 3, 5, 64)]
    choices = [Choice("ij"[d], 5 * d, t, tile=True) for d, t in enumerate(tiles)]
    big = (SketchSpace((*choices, Choice("v", 10, np.arange(4).reshape(-1, 1), tile=False))),)
    best = {}
    for name in ("evolutionary", "mcts", "combined", "random"):
        strategy, found = STRATEGIES[name](big, seed=5), []
        for step in range(8):
            pool, order = strategy.propose(32, cost if step else None)
            true = cost(pool)
            for i in order:
                strategy.observe(*pool.locate(int(i)), float(np.exp(true[i])))
            found.append(true.min())
        best[name] = min(found)
    for name in ("evolutionary", "mcts", "combined"):
        assert best[name] < best["random"]
