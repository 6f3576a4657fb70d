"""How dynamic shared buffers are merged; test_tir_verifier holds the sizes to TVM."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.summary.arena import Lifetime, arena_bytes


def arena(*buffers):
    """``(size, first, last)`` of each buffer, or another element type as a fourth."""
    lives = [
        Lifetime(np.array([s]), range(a, b + 1), *(dtype or ["float16"]))
        for s, a, b, *dtype in buffers
    ]
    return int(arena_bytes(lives, 1)[0])


@pytest.mark.parametrize(
    ("a", "b", "c", "total"),
    [
        (4096, 2048, 1024, 4096 + 2048),  # fits into the smaller one
        (4096, 2048, 3000, 4096 + 2048),  # into the larger one
        (4096, 2048, 5000, 5000 + 2048),  # the largest smaller one of the type grows
        (73728, 36864, 131072, 131072 + 36864),
        (65536, 32768, 512, 65536 + 32768 + 512),  # both more than 16 times as large
        (128, 64, 8192, 8192),  # both less than a sixteenth: laid over both
    ],
)
def test_operands_then_results(a, b, c, total):
    assert arena((a, 0, 3), (b, 1, 3), (c, 4, 5)) == total


@pytest.mark.parametrize(
    ("a", "b", "c", "total"),
    [
        (4096, 2048, 3000, 4096 + 2048),  # a larger one may be of another type
        (4096, 2048, 5000, 4096 + 2048),  # laid over both
        (36864, 73728, 131072, 131072),
        (4096, 2048, 4097, 4096 + 2048),
    ],
)
def test_results_of_another_type(a, b, c, total):
    assert arena((a, 0, 3), (b, 1, 3), (c, 4, 5, "float32")) == total


def test_no_more_entries_than_it_takes():
    first = ((4096, 0, 1), (2048, 0, 1), (1024, 0, 1))
    later = ((5000, 2, 3, "float32"), (1000, 2, 3))  # over the first two, into the third
    assert arena(*first, *later) == 4096 + 2048 + 1024


def test_buffers_alive_together_never_share():
    assert arena((100, 0, 2), (100, 1, 3), (100, 2, 4)) == 300


@given(
    st.lists(st.tuples(st.integers(64, 10**6), st.integers(0, 5), st.integers(0, 5)), min_size=1)
)
def test_between_the_peak_and_the_sum(buffers):
    ordered = [(s, min(a, b), max(a, b)) for s, a, b in buffers]
    alive = [sum(s for s, a, b in ordered if a <= t <= b) for t in range(6)]
    assert max(alive) <= arena(*ordered) <= sum(s for s, _, _ in ordered)


def test_rows_do_not_see_each_other():
    sizes = np.array([[4096, 65536], [2048, 32768], [5000, 512]])
    lives = [range(0, 4), range(1, 4), range(4, 6)]
    both = arena_bytes([Lifetime(s, life, "int8") for s, life in zip(sizes, lives, strict=True)], 2)
    assert both.tolist() == [7048, 98816]
