"""Strategies that walk through a space by numbers: order, spread, release, limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.factors import factorisations
from tuner.search import Choice, Exhaustive, Grid, Numbering, Pool, SearchError, SketchSpace


def space(*sizes: int) -> SketchSpace:
    options = [np.arange(n).reshape(-1, 1) for n in sizes]
    return SketchSpace(tuple(Choice(f"d{i}", i, o, False) for i, o in enumerate(options)))


def tiled() -> SketchSpace:
    tile = Choice("i", 0, factorisations(48, 3, 16), tile=True)
    return SketchSpace((tile, Choice("v", 3, np.arange(3).reshape(-1, 1), tile=False)))


def ranks(numbering: Numbering, pool: Pool, order: np.ndarray) -> list[int]:
    found: list[int] = numbering.ranks(pool)[order].tolist()
    return found


def test_numbers_and_vectors_are_one_to_one() -> None:
    numbering = Numbering((tiled(), space(), space(4, 5)))
    every = np.arange(numbering.size)
    pool = numbering.pool(every)
    assert len(set(pool.identities())) == numbering.size == tiled().size + 1 + 20
    assert np.array_equal(numbering.ranks(pool), every)
    assert np.array_equal(pool.matrices[0], tiled().enumerate())


def test_what_is_outside_has_no_number() -> None:
    rows = np.array([[3, 4, 4, 0], [4, 3, 4, 0], [48, 1, 1, 3], [5, 4, 4, 1]])
    assert (tiled().rank(rows) >= 0).tolist() == [True, True, False, False]
    assert tiled().holds(rows).tolist() == [True, True, False, False]


def test_exhaustive_goes_in_order_and_takes_back_what_nobody_saw() -> None:
    spaces = (space(2, 3), space(4))
    strategy, numbering = Exhaustive(spaces, seed=9), Numbering(spaces)
    pool, order = strategy.propose(7, None)
    assert ranks(numbering, pool, order) == [0, 1, 2, 3, 4, 5, 6]
    strategy.release(pool.take(np.arange(7) >= 5))
    pool, order = strategy.propose(4, None)
    assert ranks(numbering, pool, order) == [5, 6, 7, 8]
    pool, order = strategy.propose(4, None)
    assert ranks(numbering, pool, order) == [9]
    assert len(strategy.propose(4, None)[0]) == 0


def test_exhaustive_refuses_a_large_space_with_a_line() -> None:
    with pytest.raises(SearchError, match=r"1,000,001 candidates, at most 1,000,000") as error:
        Exhaustive((space(1_000_001),), seed=0)
    assert "\n" not in str(error.value)


@given(st.integers(1, 400), st.integers(0, 5), st.data())
def test_a_grid_is_evenly_spaced_at_every_budget(size: int, seed: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, size))
    spaces = (space(size),)
    pool, order = Grid(spaces, seed).propose(n, None)
    found = sorted(ranks(Numbering(spaces), pool, order))
    assert len(set(found)) == n
    gaps = {b - a for a, b in zip(found, [*found[1:], found[0] + size], strict=True)}
    assert len(gaps) <= 3  # three-distance theorem


def test_a_grid_spreads_over_every_decision() -> None:
    sizes = (35, 35, 15, 3, 2, 2)
    pool, _ = Grid((space(*sizes),), seed=1).propose(420, None)
    for column, options in zip(pool.matrices[0].T, sizes, strict=True):
        counts = np.bincount(column, minlength=options)
        assert counts.min() >= 0.5 * 420 / options
        assert counts.max() <= 1.6 * 420 / options


def test_a_grid_takes_back_what_nobody_saw() -> None:
    spaces = (tiled(), space(7))
    strategy, numbering = Grid(spaces, seed=3), Numbering(spaces)
    pool, order = strategy.propose(8, None)
    walked = ranks(numbering, pool, order)
    unseen = np.ones(8, dtype=bool)
    unseen[order[:5]] = False
    strategy.release(pool.take(unseen))
    pool, order = strategy.propose(5, None)
    assert ranks(numbering, pool, order)[:3] == walked[5:]


def test_a_grid_walks_spaces_beyond_any_table() -> None:
    huge = (space(*[1000] * 5),)  # 10^15
    pool, order = Grid(huge, seed=0).propose(64, None)
    found = ranks(Numbering(huge), pool, order)
    assert len(set(found)) == 64
    assert max(found) - min(found) > 0.9 * 10**15
