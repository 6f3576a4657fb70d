"""A small sketch that is looked up gives the same tables as one that is evaluated."""

from __future__ import annotations

import numpy as np
import pytest

from hwsim.table import KernelTable
from tuner.columns.road import differing
from tuner.columns.whole import Whole
from tuner.decisions import IntMatrix
from tuner.search.space import Choice, SketchSpace

TILES = np.array([[1, 8], [2, 4], [4, 2], [8, 1]])
SPACE = SketchSpace((Choice("i", 0, TILES, True), Choice("u", 2, np.arange(3)[:, None], False)))


def two_kernels(matrix: IntMatrix) -> KernelTable:
    """Two kernels a candidate, as a softmax has."""
    n = len(matrix)
    both = np.stack([matrix[:, 0], 10 * matrix[:, 1] + matrix[:, 2]], axis=1).reshape(-1)
    return KernelTable("gpu_sm", 2 * n, {"threads": both, "candidate": np.repeat(np.arange(n), 2)})


def test_the_whole_space_is_evaluated_once_it_pays() -> None:
    asked: list[int] = []

    def evaluate(matrix: IntMatrix) -> KernelTable:
        asked.append(len(matrix))
        return two_kernels(matrix)

    whole, rng = Whole(SPACE, evaluate), np.random.default_rng(0)
    for _ in range(6):
        rows = SPACE.sample(5, rng)
        assert not differing(whole(rows), two_kernels(rows))
    assert asked == [5, 5, SPACE.size]


def test_what_lies_outside_the_space_is_evaluated() -> None:
    whole = Whole(SPACE, two_kernels)
    whole(SPACE.enumerate())
    outside = np.array([[3, 3, 0], [1, 8, 2]])
    assert not differing(whole(outside), two_kernels(outside))


@pytest.mark.parametrize("size", [70_000])
def test_large_spaces_are_never_evaluated_whole(size: int) -> None:
    space = SketchSpace((Choice("i", 0, np.arange(size)[:, None], False),))
    asked: list[int] = []

    def evaluate(matrix: IntMatrix) -> KernelTable:
        asked.append(len(matrix))
        return KernelTable("gpu_sm", len(matrix))

    whole = Whole(space, evaluate)
    for _ in range(3):
        whole(np.arange(size)[:40_000, None])
    assert asked == [40_000] * 3
