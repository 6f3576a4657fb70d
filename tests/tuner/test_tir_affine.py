"""Index expressions become sums over digits that give the same numbers."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import tirx

from tuner.tir.affine import evaluate
from tuner.tir.radix import Form, Radix, Unsupported

LOOPS = {"i": 24, "j": 10, "k": 6}


@st.composite
def indices(draw, depth=3):
    """An index expression as a TVM expression and as a Python function of the loop values."""
    if depth == 0 or draw(st.booleans()):
        name = draw(st.sampled_from(sorted(LOOPS)))
        return (lambda v, n=name: v[n]), name
    kind = draw(st.sampled_from("+*/%"))
    left, text = draw(indices(depth=depth - 1))
    if kind == "+":
        right, other = draw(indices(depth=depth - 1))
        return (lambda v: left(v) + right(v)), f"({text} + {other})"
    c = draw(st.sampled_from((2, 3, 4, 6, 8, 12)))
    if kind == "*":
        return (lambda v: left(v) * c), f"({text} * {c})"
    if kind == "/":
        return (lambda v: left(v) // c), f"({text} // {c})"
    return (lambda v: left(v) % c), f"({text} % {c})"


def _form(text):
    radix = Radix()
    variables = {name: tirx.Var(name, "int32") for name in LOOPS}
    for name, extent in LOOPS.items():
        radix.add(name, extent)
    env = {v.__chandle__(): Form(0, {name: 1}) for name, v in variables.items()}
    expr = eval(text, {}, variables)  # operators of TVM on the variables
    return evaluate(expr, env, radix), radix


def _digit_values(radix, values):
    out = {}
    for name, value in values.items():
        for leaf in reversed(radix.leaves(name)):
            value, out[leaf] = divmod(value, radix.extent(leaf))
    return out


def _sum(terms, digits, radix):
    return sum(c * digits[d] for d, c in radix.expand(terms).items())


def _value(form, radix, values):
    digits = _digit_values(radix, values)
    total = form.const + _sum(form.terms, digits, radix)
    for q in form.quasi:
        inner = _sum(q.terms, digits, radix) // q.div
        total += q.scale * (inner % q.mod if q.mod else inner)
    return total


@settings(max_examples=150, deadline=None)
@given(indices())
def test_a_form_has_the_value_of_its_expression(index):
    function, text = index
    try:
        form, radix = _form(text)
    except Unsupported:
        return
    for values in product(*(range(e) for e in LOOPS.values())):
        assert _value(form, radix, dict(zip(LOOPS, values, strict=True))) == function(
            dict(zip(LOOPS, values, strict=True))
        ), text


@pytest.mark.parametrize(
    ("text", "digits"),
    [("i // 4 * 32 + j", {6, 4}), ("i % 12", {2, 12}), ("(i * 10 + j) // 40", {6, 4})],
)
def test_loops_are_cut_where_divisions_need_it(text, digits):
    form, radix = _form(text)
    assert not form.quasi
    assert {radix.extent(d) for d in radix.leaves("i")} == digits


def test_a_cut_across_digits_stays_quasi_affine():
    form, _ = _form("(i * 10 + j) // 7")
    assert len(form.quasi) == 1


def test_a_product_of_loops_is_refused_by_name():
    with pytest.raises(Unsupported, match="product of two loops"):
        _form("i * j")
