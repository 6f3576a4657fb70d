"""What can be seen of an expression's value without a decision matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import prod
from typing import Any

from tuner.columns.node import Expr, factors_of

Bound = int | None  # None: none is seen
Range = tuple[Bound, Bound]
_TRUTH: Range = (0, 1)
_OPEN: Range = (None, None)


def lower(e: Expr) -> Bound:
    """A bound that no row falls below; sampled values are at least 0, tile factors at least 1."""
    return _range(e)[0]


def upper(e: Expr) -> Bound:
    """A bound that no row exceeds."""
    return _range(e)[1]


def natural(e: Expr) -> bool:
    """Whether an expression is visibly not negative."""
    return (low := lower(e)) is not None and low >= 0


def positive(e: Expr) -> bool:
    """Whether an expression is visibly positive."""
    return (low := lower(e)) is not None and low > 0


def _range(e: Expr) -> Range:
    if e.range is None:
        e.range = _RULES[e.op](e) if e.op in _RULES else _OPEN
    return e.range


def _product(e: Expr) -> Range:
    scale, factors = factors_of(e)
    lows = [lower(f) for f in factors]
    if any(low is None or low < 0 for low in lows):
        return _OPEN
    ends = prod(v for v in lows if v is not None), _most(factors)
    low, high = ends if scale >= 0 else ends[::-1]
    return _times(scale, low), _times(scale, high)


def _times(scale: int, bound: Bound) -> Bound:
    return None if bound is None else scale * bound


def _most(factors: tuple[Expr, ...]) -> Bound:
    """The factors of one tile multiply to its extent at most, each of them used once."""
    scale, groups = 1, dict[Any, int]()
    used: Counter[int] = Counter()
    for f in factors:
        if f.op != "column":
            bound = upper(f)
            if bound is None:
                return None
            scale *= bound
            continue
        index, group, product = f.args
        used[index] += 1
        groups[group, used[index]] = product
    return scale * prod(groups.values())


def _sum(e: Expr) -> Range:
    lows, highs = zip(*map(_range, e.args[1:]), strict=True)
    return _plus(e.args[0], lows), _plus(e.args[0], highs)


def _plus(offset: int, bounds: tuple[Bound, ...]) -> Bound:
    known = [b for b in bounds if b is not None]
    return offset + sum(known) if len(known) == len(bounds) else None


def _of_all(choose: Callable[..., int], bounds: list[Bound]) -> Bound:
    known = [b for b in bounds if b is not None]
    return choose(known) if len(known) == len(bounds) else None


def _of_any(choose: Callable[..., int], bounds: list[Bound]) -> Bound:
    return choose(known) if (known := [b for b in bounds if b is not None]) else None


def _least(e: Expr) -> Range:
    lows, highs = (list(side) for side in zip(*map(_range, e.args), strict=True))
    return _of_all(min, lows), _of_any(min, highs)


def _greatest(e: Expr) -> Range:
    lows, highs = (list(side) for side in zip(*map(_range, e.args), strict=True))
    return _of_any(max, lows), _of_all(max, highs)


def _either(e: Expr) -> Range:
    lows, highs = (list(side) for side in zip(*map(_range, e.args[1:]), strict=True))
    return _of_all(min, lows), _of_all(max, highs)


def _quotient(e: Expr) -> Range:
    a, b = e.args
    if not (natural(a) and positive(b)):
        return _OPEN
    return int(e.op == "ceildiv" and positive(a)), upper(a)


def _remainder(e: Expr) -> Range:
    a, b = e.args
    if not positive(b):
        return _OPEN
    highest = upper(b)
    below = None if highest is None else highest - 1
    return 0, _of_any(min, [below, upper(a) if natural(a) else None])


def _divisor(e: Expr) -> Range:
    wanted = e.args[0]
    return int(positive(wanted)), upper(wanted)


_RULES: dict[str, Callable[[Expr], Range]] = {
    "const": lambda e: (e.args[0], e.args[0]),
    "lookup": lambda e: (min(e.args[0]), max(e.args[0])),
    "column": lambda e: (1, e.args[2]),
    "mul": _product,
    "add": _sum,
    "min": _least,
    "max": _greatest,
    "where": _either,
    "ceildiv": _quotient,
    "floordiv": _quotient,
    "mod": _remainder,
    "divisor_or_one": _divisor,
    "less": lambda e: _TRUTH,
    "equal": lambda e: _TRUTH,
    "both": lambda e: _TRUTH,
}
