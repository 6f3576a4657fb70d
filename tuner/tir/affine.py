"""From TVM's index expressions to sums over loop digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tvm import prim
from tvm.ir import TensorLoad, Var

from tuner.tir.radix import Form, Radix, Unsupported

FAR = 1 << 20  # elements: beyond any tile, so that each iteration counts as an index of its own
Env = Mapping[int, Form]


def evaluate(expr: Any, env: Env, radix: Radix) -> Form:
    """The form of an index expression; ``env`` maps a variable's handle to its form.

    Raises
    ------
    Unsupported
        The expression holds something else than variables, constants, ``+ - * // %``, casts, clamps
        by constants and loads.
    """
    rule = _RULES.get(type(expr))
    if rule is None:
        raise Unsupported(f"index {expr}: {type(expr).__name__} is not analysed")
    return rule(expr, env, radix)


def _var(expr: Any, env: Env, radix: Radix) -> Form:
    form = env.get(expr.__chandle__())
    if form is None:
        raise Unsupported(f"index {expr}: unknown variable")
    return form


def _mul(expr: Any, env: Env, radix: Radix) -> Form:
    a, b = evaluate(expr.a, env, radix), evaluate(expr.b, env, radix)
    if not b.terms and not b.quasi:
        return a.times(b.const)
    if not a.terms and not a.quasi:
        return b.times(a.const)
    raise Unsupported(f"index {expr}: product of two loops")


def _divided(part: int) -> Callable[[Any, Env, Radix], Form]:
    def rule(expr: Any, env: Env, radix: Radix) -> Form:
        if type(expr.b) is not prim.IntImm:
            raise Unsupported(f"index {expr}: divisor is no constant")
        return radix.divide(evaluate(expr.a, env, radix), expr.b.value)[part]

    return rule


def _sub(expr: Any, env: Env, radix: Radix) -> Form:
    return evaluate(expr.a, env, radix).plus(evaluate(expr.b, env, radix).times(-1))


def _loaded(expr: Any, env: Env, radix: Radix) -> Form:
    """An index that is data (a gather): neighbouring iterations lie far from each other."""
    total = Form()
    for index in expr.indices:
        total = total.plus(evaluate(index, env, radix))
    return total.times(FAR)


def _clamped(expr: Any, env: Env, radix: Radix) -> Form:
    """An index clamped by a constant: it runs like the index itself."""
    sides = [e for e in (expr.a, expr.b) if type(e) is not prim.IntImm]
    if len(sides) != 1:
        raise Unsupported(f"index {expr}: clamped by something else than a constant")
    return evaluate(sides[0], env, radix)


_RULES: dict[type, Callable[[Any, Env, Radix], Form]] = {
    Var: _var,
    prim.IntImm: lambda e, env, radix: Form(e.value),
    prim.Add: lambda e, env, radix: evaluate(e.a, env, radix).plus(evaluate(e.b, env, radix)),
    prim.Sub: _sub,
    prim.Mul: _mul,
    prim.FloorDiv: _divided(0),
    prim.FloorMod: _divided(1),
    TensorLoad: _loaded,
    prim.Min: _clamped,
    prim.Max: _clamped,
    prim.Cast: lambda e, env, radix: evaluate(e.value, env, radix),
}
