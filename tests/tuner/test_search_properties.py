"""What holds for every strategy, space and seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.factors import factorisations
from tuner.search import STRATEGIES, Choice, Pool, SketchSpace, Strategy
from tuner.search.combined import Combined
from tuner.search.tree import Node, SortedSpace

ALL = sorted(STRATEGIES)
LEARNING = ["combined", "evolutionary", "mcts"]
Key = tuple[int, bytes]


@st.composite
def sketch_spaces(draw: st.DrawFn) -> SketchSpace:
    """Up to four decisions; of some options a pruner has taken a part, also all but one."""
    choices, start = [], 0
    for i in range(draw(st.integers(0, 4))):
        tile = draw(st.booleans())
        if tile:
            parts = draw(st.integers(1, 3))
            options = factorisations(draw(st.sampled_from([1, 6, 8, 12])), parts, 64)
        else:
            options = np.arange(draw(st.integers(1, 4))).reshape(-1, 1)
        kept = draw(st.sets(st.integers(0, len(options) - 1), min_size=1))
        choices.append(Choice(f"d{i}", start, options[sorted(kept)], tile))
        start = choices[-1].stop
    return SketchSpace(tuple(choices))


spaces = st.lists(sketch_spaces(), min_size=1, max_size=3).map(tuple)
seeds = st.integers(0, 2**32 - 1)


def cost(pool: Pool) -> np.ndarray:
    """Log latencies: a linear landscape with ties."""
    return np.concatenate([np.arange(m.shape[1]) @ m.T % 7.0 for m in pool.matrices])


def everything(of: tuple[SketchSpace, ...]) -> set[Key]:
    return {(s, row.tobytes()) for s, space in enumerate(of) for row in space.enumerate()}


def walk(strategy: Strategy, n: int, looked: int, latency_us: float | None) -> list[Key]:
    """Propose to the end; look at the first ``looked``, release the others.

    What was looked at, in order; every result is ``latency_us``, None: the truth.
    """
    seen: list[Key] = []
    for step in range(2000):
        pool, order = strategy.propose(n, cost if step else None)
        assert sorted(order) == list(range(len(pool)))
        if not len(pool):
            return seen
        true, keys = cost(pool), pool.identities()
        for i in map(int, order[:looked]):
            seen.append(keys[i])
            result = float(np.exp(true[i])) if latency_us is None else latency_us
            strategy.observe(*pool.locate(i), result)
        strategy.release(pool.take(~np.isin(np.arange(len(pool)), order[:looked])))
    raise AssertionError("the search does not end")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("latency_us", [None, float("inf")], ids=["truth", "all-failed"])
@settings(max_examples=15, deadline=None)
@given(of=spaces, seed=seeds)
def test_all_of_a_space_is_looked_at_once_whatever_is_released(
    name: str, latency_us: float | None, of: tuple[SketchSpace, ...], seed: int
) -> None:
    total = sum(s.size for s in of)
    strategy = STRATEGIES[name](of, seed, 64)
    seen = walk(strategy, n=max(8, total // 10), looked=max(5, total // 16), latency_us=latency_us)
    assert len(seen) == len(set(seen)) == total
    assert set(seen) == everything(of)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=10, deadline=None)
@given(of=spaces, seed=seeds)
def test_the_same_seed_walks_the_same_way(
    name: str, of: tuple[SketchSpace, ...], seed: int
) -> None:
    ways = [walk(STRATEGIES[name](of, seed, 64), 64, 48, None) for _ in range(2)]
    assert ways[0] == ways[1]


@pytest.mark.parametrize("name", ALL)
def test_what_is_released_may_come_again_and_what_is_not_never_does(name: str) -> None:
    of = (SketchSpace((Choice("v", 0, np.arange(5).reshape(-1, 1), tile=False),)),)
    strategy = STRATEGIES[name](of, 0)
    pool, order = strategy.propose(8, None)
    assert len(pool) == 5
    first = np.isin(np.arange(5), order[:2])
    strategy.release(pool.take(~first))
    again, _ = strategy.propose(8, None)
    assert set(again.identities()) == set(pool.take(~first).identities())


@pytest.mark.parametrize("name", LEARNING)
def test_heavy_pruning_does_not_keep_it_from_the_rest(name: str) -> None:
    """Of ten thousand candidates only those with the last tile even can run."""
    tiles = [Choice(f"t{i}", 4 * i, factorisations(64, 4, 64), tile=True) for i in range(2)]
    strategy, alive = STRATEGIES[name]((SketchSpace(tuple(tiles)),), 1), []

    def latency(row: np.ndarray) -> float:
        return float("inf") if (row[[3, 7]] < 16).any() else float(row.sum())

    def score(pool: Pool) -> np.ndarray:
        return np.log([latency(row) for row in pool.matrices[0]])

    for step in range(6):
        pool, order = strategy.propose(32, score if step else None)
        got = [latency(pool.locate(int(i))[1]) for i in order]
        for i, us in zip(order, got, strict=True):
            strategy.observe(*pool.locate(int(i)), us)
        alive.append(np.isfinite(got).mean())
    assert np.mean(alive[1:]) > 5 * alive[0]


@settings(max_examples=50, deadline=None)
@given(of=sketch_spaces(), seed=seeds)
def test_the_leaves_of_the_tree_are_the_candidates(of: SketchSpace, seed: int) -> None:
    space, rng = SortedSpace(of), np.random.default_rng(seed)
    seen = np.array([space.indices(row) for row in of.sample(5, rng)], dtype=np.int64)
    seen = seen.reshape(5, len(of.choices))
    first = len(space.options[0]) if space.options else 0
    root = Node(space, 0, (), 0, first, seen, np.ones(5))
    leaves, results, open_nodes = [], 0, [root]
    while open_nodes:
        node = open_nodes.pop()
        low, high = node.bounds()
        assert (np.array(low) < np.array(high)).all()
        if node.leaf:
            assert (np.array(high) - low == 1).all()
            leaves.append(low)
            results += len(node.rewards)
        else:
            children = node.expand(rng)
            assert sum(len(c.rewards) for c in children) == len(node.rewards)
            open_nodes += children
    rows = space.rows(np.array(leaves, dtype=np.int64).reshape(len(leaves), len(of.choices)))
    assert len(leaves) == of.size
    assert results == 5
    assert root.visits == root.total == 5**0.5
    assert {r.tobytes() for r in rows} == {r.tobytes() for r in of.enumerate()}


def test_the_batch_follows_the_one_that_improves() -> None:
    of = (SketchSpace((Choice("t", 0, factorisations(2**12, 4, 64), tile=True),)),)
    strategy = Combined(of, 0)
    assert strategy.shares == (0.5, 0.5)
    strategy.propose(64, cost)
    mine = [key for key, part in strategy._owner.items() if part == 1]
    assert len(mine) == 32
    for key in list(strategy._owner):
        row = np.frombuffer(key[1], dtype=np.int64)
        strategy.observe(key[0], row, 1.0 if key in mine else float("inf"))
    assert strategy.shares[0] == pytest.approx(0.2)


def test_the_last_candidate_of_a_large_sketch_beside_many_small_ones_is_found() -> None:
    large = SketchSpace((Choice("v", 0, np.arange(30_000).reshape(-1, 1), tile=False),))
    small = SketchSpace((Choice("v", 0, np.arange(2).reshape(-1, 1), tile=False),))
    of = (small,) * 30 + (large,)
    strategy, found = STRATEGIES["random"](of, 0), 0
    while len(pool := strategy.propose(8000, None)[0]):
        found += len(pool)
    assert found == 30_060
