"""What numpy makes of symbols has the values that it makes of the columns they stand for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.columns.evaluate import Plan
from tuner.columns.expr import column, lookup
from tuner.columns.symbol import Symbol, integer

MATRIX = np.array([[t, 12 // t, c] for t in (1, 2, 3, 4, 6, 12) for c in (0, 1, 2)])
TABLE = (0, 1, 5)
LEAVES = {  # what each symbol stands for
    "outer": (integer(column(0, 0, 12)), MATRIX[:, 0]),
    "inner": (integer(column(1, 0, 12)), MATRIX[:, 1]),
    "choice": (integer(lookup(TABLE, 2)), np.array(TABLE)[MATRIX[:, 2]]),
    "one": (np.ones(1, dtype=np.int64), np.ones(len(MATRIX), dtype=np.int64)),
    "minus": (np.full(1, -3), np.full(len(MATRIX), -3)),
    "half": (np.full(1, 0.5), np.full(len(MATRIX), 0.5)),
    "never": (np.zeros(1, dtype=bool), np.zeros(len(MATRIX), dtype=bool)),
}
OF_TWO = (
    np.add, np.subtract, np.multiply, np.minimum, np.maximum,
    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal,
)  # fmt: skip


def is_truth(x):
    return x.kind == "b" if isinstance(x, Symbol) else x.dtype.kind == "b"


def of_two(ufunc):
    """Of truth values as integers: numpy knows no minus of them."""
    return lambda a, b: ufunc(*(x.astype(np.int64) if is_truth(x) else x for x in (a, b)))


def true(x):
    return x if is_truth(x) else x > 1


OPERATIONS = (
    *map(of_two, OF_TWO),
    lambda a, b: np.where(true(a), b, a),
    lambda a, b: true(a) & true(b),
    lambda a, b: true(a) | true(b),
    lambda a, b: ~true(a),
    lambda a, b: -of_two(np.add)(a, b),
    lambda a, b: np.abs(of_two(np.subtract)(a, b)),
    lambda a, b: of_two(np.divide)(a, np.where(b == 0, 1, b)),
    lambda a, b: of_two(np.floor_divide)(a, np.where(b == 0, 1, b)),
    lambda a, b: -(-of_two(np.add)(a, a) // np.where(b == 0, 1, b)),
    lambda a, b: of_two(np.remainder)(a, np.where(b == 0, 1, b)),
    lambda a, b: np.ceil(a.astype(np.float64) * 0.3),
    lambda a, b: np.frexp(a.astype(np.float64))[1].astype(np.int64),
    lambda a, b: a.astype(np.float64),
)
steps = st.lists(
    st.tuples(st.integers(0, len(OPERATIONS) - 1), st.integers(0, 40), st.integers(0, 40)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@given(steps)
def test_programs_over_symbols_equal_those_over_columns(program):
    pairs = list(LEAVES.values())
    for operation, i, j in program:
        (a, x), (b, y) = pairs[i % len(pairs)], pairs[j % len(pairs)]
        pairs.append((OPERATIONS[operation](a, b), OPERATIONS[operation](x, y)))
    values = Plan(s.expr for s, _ in pairs if isinstance(s, Symbol))(MATRIX)
    for symbol, expected in pairs:
        found = values[symbol.expr] if isinstance(symbol, Symbol) else symbol
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(np.broadcast_to(found, len(MATRIX)), expected)


def test_what_no_decision_changes_is_an_array():
    outer, inner = LEAVES["outer"][0], LEAVES["inner"][0]
    assert isinstance(outer > 0, np.ndarray)
    assert isinstance((outer * inner) // outer == inner, np.ndarray)
    assert np.maximum(outer, 1).expr is outer.expr


def test_a_path_that_depends_on_candidates_is_refused():
    with pytest.raises(TypeError, match="control flow"):
        bool(LEAVES["outer"][0] > 1)
