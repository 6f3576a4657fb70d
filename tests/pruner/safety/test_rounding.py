"""The bound on rounding holds for real float16 arithmetic, and split sums have a smaller one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pruner.safety.rounding import gamma, rounding

normal = st.floats(-8, 8, width=16).filter(lambda x: x == 0 or abs(x) > 2**-5)  # no underflow


def products(a, b, term):
    """Products as they are computed, and exact ones."""
    exact = a.astype(np.float64) * b.astype(np.float64)
    return (a.astype(term) * b.astype(term)), exact


def one_by_one(terms, dtype):
    total = dtype(0)
    for term in terms:
        total = dtype(total + dtype(term))
    return total


def bound(ku):
    return float(gamma(np.array([ku]))[0])


@settings(max_examples=60)
@given(st.integers(1, 200), st.data())
def test_a_float16_sum_errs_by_no_more_than_gamma_k(k, data):
    a, b = (data.draw(arrays(np.float16, k, elements=normal)) for _ in range(2))
    rounded, exact = products(a, b, np.float16)
    error = abs(float(one_by_one(rounded, np.float16)) - exact.sum())
    assert error <= bound(rounding(np.array([k]), "float16")[0]) * np.abs(exact).sum() + 1e-12


@settings(max_examples=60)
@given(st.integers(1, 16), st.integers(1, 16), st.data())
def test_partial_sums_err_by_no_more_than_the_sum_of_both_chains(k1, k2, data):
    a, b = (data.draw(arrays(np.float16, (k2, k1), elements=normal)) for _ in range(2))
    rounded, exact = products(a, b, np.float16)
    partial = [one_by_one(row, np.float16) for row in rounded]
    error = abs(float(one_by_one(partial, np.float16)) - exact.sum())
    split = bound(rounding(np.array([k1 + k2]), "float16")[0])
    assert error <= split * np.abs(exact).sum() + 1e-12
    assert k1 < 2 or k2 < 3 or split < bound(rounding(np.array([k1 * k2]), "float16")[0])


def test_float32_accumulators_keep_what_float16_ones_lose():
    ones = np.ones(4096, np.float16)
    assert one_by_one(ones, np.float16) == 2048  # 2048 + 1 is no float16
    assert one_by_one(ones, np.float32) == 4096
    assert bound(rounding(np.array([4096]), "float16")[0]) == np.inf
    assert bound(rounding(np.array([4096]), "float32")[0]) == pytest.approx(2.442e-4, rel=1e-3)
