"""Expressions over decision columns: simplifying them never changes a value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.columns import expr
from tuner.columns.evaluate import Plan
from tuner.columns.expr import column, const, lookup, mul, quotient, upper
from tuner.factors import factorisations

EXTENT, PARTS = 96, 3
TABLE = (3, 1, 4)
TILES = factorisations(EXTENT, PARTS, EXTENT)
MATRIX = np.column_stack([TILES, np.arange(len(TILES)) % len(TABLE)])


def evaluator(matrix):
    return lambda e: Plan([e])(matrix)[e]


# Each operation beside what it means for two integers.
OPERATIONS = {
    expr.mul: lambda a, b: a * b,
    expr.add: lambda a, b: a + b,
    expr.minimum: min,
    expr.maximum: max,
    expr.ceildiv: lambda a, b: -(-a // b),
    expr.floordiv: lambda a, b: a // b,
    expr.modulo: lambda a, b: a % b,
    expr.less: lambda a, b: int(a < b),
    expr.equal: lambda a, b: int(a == b),
    expr.divisor_or_one: lambda a, b: a if b % a == 0 else 1,
}
DIVIDES = (expr.ceildiv, expr.floordiv, expr.modulo)

leaves = st.one_of(
    st.integers(1, 12).map(lambda v: (const(v), lambda row: v)),
    st.integers(0, PARTS - 1).map(lambda c: (column(c, 0, EXTENT), lambda row: int(row[c]))),
    st.just((lookup(TABLE, PARTS), lambda row: TABLE[row[PARTS]])),
)


def combined(pair):
    operation, (a, of_a), (b, of_b) = pair
    if operation in DIVIDES:
        b, of_b = expr.add(b, const(1)), lambda row, plain=of_b: plain(row) + 1
    if operation is expr.divisor_or_one:
        a, of_a = expr.add(a, const(1)), lambda row, plain=of_a: plain(row) + 1
    meaning = OPERATIONS[operation]
    return operation(a, b), lambda row: meaning(of_a(row), of_b(row))


trees = st.recursive(
    leaves, lambda t: st.tuples(st.sampled_from(list(OPERATIONS)), t, t).map(combined), max_leaves=8
)


@given(trees)
def test_value_and_bound(tree):
    built, meaning = tree
    values = evaluator(MATRIX)(built)
    expected = [meaning(row) for row in MATRIX]
    assert values.dtype == np.int64
    assert values.tolist() == expected
    bound = upper(built)
    assert bound is None or max(expected) <= bound


@given(trees, trees)
def test_a_quotient_is_exact(one, other):
    exact = quotient(mul(one[0], other[0]), other[0])
    if exact is not None:
        value = evaluator(MATRIX)
        assert (value(exact) * value(other[0]) == value(mul(one[0], other[0]))).all()


def test_equal_expressions_are_one_object():
    a, b = column(0, 0, EXTENT), column(1, 0, EXTENT)
    assert mul(a, const(2), b) is mul(b, a, const(2))
    assert quotient(mul(a, b, const(6)), mul(b, const(3))) is mul(a, const(2))


@given(st.lists(trees, min_size=1, max_size=6))
def test_expressions_planned_together_keep_their_values(several):
    outputs = [built for built, _ in several]
    values = Plan(outputs)(MATRIX)
    for built, meaning in several:
        assert values[built].tolist() == [meaning(row) for row in MATRIX]


def test_a_whole_tile_is_bounded_by_its_extent():
    tile = mul(*(column(c, 0, EXTENT) for c in range(PARTS)))
    assert upper(tile) == EXTENT
    assert expr.minimum(tile, const(EXTENT)) is tile


@pytest.mark.parametrize("condition", [0, 1])
def test_where_with_a_known_condition(condition):
    a, b = column(0, 0, EXTENT), column(1, 0, EXTENT)
    assert expr.where(const(condition), a, b) is (a if condition else b)
