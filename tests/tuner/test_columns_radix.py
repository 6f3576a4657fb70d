"""Quotients over columns: in every row the resolved sum is the quotient, for all digit values."""

from functools import cache
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.columns.evaluate import Plan
from tuner.columns.expr import column, const, value_of
from tuner.columns.forms import Form, Quotient
from tuner.columns.program import Digit
from tuner.columns.radix import Radix

ROWS = 6


def evaluator(matrix):
    return cache(lambda e: Plan([e])(matrix)[e])


def grid(extents):
    """Every combination of digit values, ``(points, digits)``."""
    return np.array(list(product(*(range(e) for e in extents))), dtype=np.int64)


def meaning(form, values):
    """Value of a form of constant coefficients where digits have the values ``(points,)``."""
    total = sum(value_of(c) * values[d] for d, c in form.coefs.items())
    for q in form.quotients:
        inner, by = meaning(q.form, values), value_of(q.by)
        total = total + (inner % by if q.remainder else inner // by)
    return total


def resolved_value(resolved, leaves, evaluate, i):
    total = sum(evaluate(c)[i] * leaves[d] for d, c in resolved.coefs.items())
    for s in resolved.splits:
        inner = sum(evaluate(c)[i] * leaves[d] for d, c in s.coefs.items())
        steps = inner // evaluate(s.div)[i]
        mod = evaluate(s.mod)[i]
        total = total + evaluate(s.scale)[i] * (steps % mod if mod else steps)
    return total


def leaf_values(radix, digits, values, evaluate, i):
    """The leaves of each digit from its value: mixed radix, the last leaf fastest."""
    out = {}
    for d in digits:
        rest = values[d]
        for leaf in reversed(radix.leaves(d)):
            extent = evaluate(leaf.extent)[i]
            out[leaf] = rest % extent
            rest = rest // extent
        assert (rest == 0).all()
    return out


small = st.integers(1, 6)
rows = st.lists(st.tuples(small, small, small), min_size=ROWS, max_size=ROWS)
divisors = st.sampled_from([2, 3, 4, 6, 8, 12])


@settings(max_examples=150, deadline=None)
@given(rows, st.tuples(small, small), divisors, divisors, st.booleans(), st.booleans())
def test_quotients_of_nested_digits(extents, gaps, by, outer, remainder, outer_remainder):
    """Digits c (fastest), b, a with strides that leave gaps or not, as loops of a tiled axis do."""
    matrix = np.array(extents, dtype=np.int64)
    a, b, c = (Digit(name, column(i, i, 6)) for i, name in enumerate("abc"))
    stride = gaps[0] * 6
    index = Form({a: const(stride * gaps[1] * 6), b: const(stride), c: const(1)})
    inner = Quotient(index, const(by * outer if remainder else by), remainder)
    forms = [
        Form({}, (inner,)),
        Form({}, (Quotient(Form({}, (inner,)), const(by), outer_remainder),)),
    ]
    radix, evaluate = Radix(), evaluator(matrix)
    found = [radix.resolve(form) for form in forms]
    for i in range(ROWS):
        points = grid(matrix[i])
        values = dict(zip((a, b, c), points.T, strict=True))
        leaves = leaf_values(radix, (a, b, c), values, evaluate, i)
        for form, resolved in zip(forms, found, strict=True):
            expected = meaning(form, values)
            got = resolved_value(radix.final(resolved), leaves, evaluate, i)
            assert (got == expected).all()


def test_an_aligned_tile_needs_no_split():
    rows, columns = Digit("rows", column(0, 0, 8)), Digit("columns", column(1, 1, 112))
    index = Form({rows: const(112), columns: const(1)})
    matrix = np.array([[4, 112], [2, 56]], dtype=np.int64)
    radix, evaluate = Radix(), evaluator(matrix)
    quotient = radix.resolve(Form({}, (Quotient(index, const(56), False),)))
    assert [evaluate(s.scale).tolist() for s in quotient.splits] in ([], [[0, 0]])
    upper, lower = radix.leaves(columns)
    assert evaluate(upper.extent).tolist() == [2, 1]
    assert evaluate(lower.extent).tolist() == [56, 56]
