"""What can be seen of an expression's value without a decision matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import prod
from typing import Any

from tuner.columns.node import Expr, factors_of


def upper(e: Expr) -> int | None:
    """A bound that no row exceeds, or None if none is seen.

    Sampled values are at least 0 (tile factors at least 1), and so is every coefficient.
    """
    if e.op == "const":
        return int(e.args[0])
    if e.op == "lookup":
        return int(max(e.args[0]))
    if e.op in ("column", "mul"):
        return _upper_product(e)
    if e.op == "add":
        parts = [upper(a) for a in e.args[1:]]
        return None if None in parts else int(e.args[0]) + sum(p for p in parts if p is not None)
    if e.op in ("less", "equal", "both"):
        return 1
    if e.op in ("min", "max"):
        known = [u for a in e.args if (u := upper(a)) is not None]
        return _OF_KNOWN[e.op](known) if len(known) >= (1 if e.op == "min" else 2) else None
    return upper(e.args[0]) if e.op in ("ceildiv", "floordiv", "divisor_or_one") else None


_OF_KNOWN: dict[str, Callable[[list[int]], int]] = {"min": min, "max": max}


def _upper_product(e: Expr) -> int | None:
    """The factors of one tile multiply to its extent at most, each of them used once."""
    scale, factors = factors_of(e)
    groups: dict[Any, int] = {}
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
    return scale * prod(groups.values()) if scale >= 0 else None


def positive(e: Expr) -> bool:
    """Whether an expression is visibly positive; tile factors and extents are."""
    if e.op == "const":
        return int(e.args[0]) > 0
    if e.op == "mul":
        return int(e.args[0]) > 0 and all(map(positive, e.args[1:]))
    if e.op in ("ceildiv", "min"):
        return all(map(positive, e.args))
    if e.op == "where":
        return all(map(positive, e.args[1:]))
    return e.op == "column" or (e.op == "max" and any(map(positive, e.args)))
