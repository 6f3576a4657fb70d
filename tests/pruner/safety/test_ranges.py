"""Value ranges: exact at the boundary, by real integer arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pruner.safety.ranges import Interval, limits, longest_sum

DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32")


def column(value):
    return np.array([float(value)])


@pytest.mark.parametrize(
    ("operand", "accumulator", "longest"),
    [
        ("int8", "int32", 131_071),
        ("int8", "int16", 1),
        ("uint8", "int32", 33_025),
        ("uint8", "uint32", 66_051),
        ("uint8", "uint16", 1),
        ("int16", "int32", 1),
    ],
)
def test_longest_sum_of_products_fits_and_one_more_wraps(operand, accumulator, longest):
    full = Interval.of_dtype(operand, 1)
    assert longest_sum(full * full, accumulator).tolist() == [longest]
    low, high = (int(x) for x in limits(operand))
    worst = max((low * low, high * high, low * high), key=abs)
    for terms, fits in ((longest, True), (longest + 1, False)):
        products = np.full(terms, worst, dtype=np.int64).astype(accumulator)
        wrapped = int(np.add.reduce(products, dtype=accumulator))
        assert (wrapped == terms * worst) is fits
        found = (full * full).summed(np.array([terms]))
        assert (found.bits(accumulator)[0] <= np.iinfo(accumulator).bits) == fits


@pytest.mark.parametrize(("terms", "fits"), [(256, True), (257, False)])
def test_a_sum_of_int8_may_be_as_low_as_the_dtype(terms, fits):
    found = Interval.of_dtype("int8", 1).summed(np.array([terms]))
    assert bool(found.bits("int16")[0] <= 16) is fits
    total = int(np.add.reduce(np.full(terms, -128, dtype=np.int16), dtype=np.int16))
    assert (total == -128 * terms) is fits


@given(st.sampled_from(DTYPES), st.integers(-(2**50), 2**50), st.integers(-(2**50), 2**50))
def test_the_width_is_the_least_that_holds_both_ends(dtype, one, other):
    low, high = sorted((one, other))
    bits = int(Interval(column(low), column(high)).bits(dtype)[0])
    if low >= 0 and dtype.startswith("u"):
        assert bits == high.bit_length()
    else:
        assert -(2 ** (bits - 1)) <= low
        assert high <= 2 ** (bits - 1) - 1
        assert bits == 1 or low < -(2 ** (bits - 2)) or high > 2 ** (bits - 2) - 1


values = st.integers(-200, 200)


@given(st.lists(st.tuples(values, values), min_size=2, max_size=2), st.data())
def test_results_lie_in_the_interval(ends, data):
    (a, x), (b, y) = (
        (Interval(column(min(e)), column(max(e))), data.draw(st.integers(min(e), max(e))))
        for e in ends
    )
    for found, value in ((a + b, x + y), (a * b, x * y), (a | b, x), (a | b, y)):
        assert found.low[0] <= value <= found.high[0]
    terms = data.draw(st.integers(0, 5))
    total = a.summed(np.array([terms]))
    assert total.low[0] <= terms * x <= total.high[0]


def test_what_is_no_integer_is_refused():
    with pytest.raises(ValueError, match=r"'float16': expected an integer"):
        limits("float16")
