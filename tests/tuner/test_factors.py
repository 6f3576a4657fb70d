from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tuner.factors import divisors, factorisations


@given(st.integers(1, 60), st.integers(1, 4), st.integers(1, 64))
def test_factorisations_are_all_and_only_the_legal_ones(extent, parts, bound):
    choices = [d for d in range(1, extent + 1) if extent % d == 0]
    expected = {t for t in product(choices, repeat=parts) if prod(t) == extent and t[-1] <= bound}
    table = factorisations(extent, parts, bound)
    assert {tuple(row) for row in table.tolist()} == expected
    assert len(table) == len(expected)


@given(st.integers(1, 5000))
def test_divisors(extent):
    assert divisors(extent).tolist() == [d for d in range(1, extent + 1) if extent % d == 0]


def test_a_large_prime_has_only_trivial_tilings():
    table = factorisations(50021, 3, 64)
    assert np.unique(table).tolist() == [1, 50021]
    assert table[:, -1].max() == 1
