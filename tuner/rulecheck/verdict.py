"""Ship or do not ship: the reasons, in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Measures = Mapping[str, float | None]


@dataclass(frozen=True)
class Bounds:
    """What a rule may cost: ``regret`` of the best of a space, ``false_prunes`` as a share of what
    is within 5 % of the optimum.
    """

    regret: float = 0.0
    false_prunes: float = 0.01


def objections(measures: Measures, bounds: Bounds) -> list[str]:
    """Why the rule must not ship, from what it does to one space; none: nothing objects."""
    out = []
    n, pruned = measures["candidates"] or 0, measures["pruning_rate"] or 0
    if n and pruned == 1:
        out.append(f"prunes all of {n:.0f} candidates")
    elif _over(measures["space_regret"], bounds.regret):
        out.append(f"loses the optimum: the best that it leaves is {_regret(measures)} slower")
    if _over(measures["false_prune_rate"], bounds.false_prunes):
        out.append(
            f"prunes {measures['false_prunes']:.0f} of {measures['near_optimum']:.0f} candidates"
            f" within 5 % of the optimum ({measures['false_prune_rate']:.1%},"
            f" allowed {bounds.false_prunes:.1%})"
        )
    if measures["wrong_limits"]:
        out.append(
            f"says that what it prunes cannot run, {measures['wrong_limits']:.0f} of it does run"
        )
    return out


def remarks(measures: Measures) -> list[str]:
    """What is worth knowing and no reason against the rule."""
    if not measures["pruning_rate"]:
        return ["prunes nothing"]
    if not measures["pruning_rate_above_base"]:
        return ["prunes nothing that the rule set leaves"]
    return []


def _over(value: float | None, bound: float) -> bool:
    return value is None or value > bound + 1e-12


def _regret(measures: Measures) -> str:
    regret = measures["space_regret"]
    return "infinitely" if regret is None else f"{regret:.2%}"
