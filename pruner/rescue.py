"""What is correct survives the trial stage: candidates that it gets back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pruner.judgement import GATE, Outcome
from pruner.objections import Objections
from pruner.rule import BoolColumn, FloatColumn


def spare(
    found: Objections,
    code: NDArray[np.int64],
    keep: BoolColumn,
    hard: BoolColumn,
    probability: FloatColumn,
    gate: str,
) -> str | None:
    """Set ``keep`` ``(n,)`` for one more candidate and say why; None: there is none.

    The safest one where nothing is left; else, where all that was measured so far has failed, the
    safest of those that no ``hard`` limit prunes, since what the soft rules leave may all be wrong.
    """
    left = bool(keep.any())
    order = _safest(found.outcomes, probability) if len(keep) > 1 else np.zeros(1, dtype=np.int64)
    if not left:
        keep[order[0]] = True
        blamed = _last_straw(found.specs, code, gate)
        return f"{blamed} left nothing of {len(keep)} candidates: the safest one is measured"
    possible = order[~keep[order] & ~hard[order]]
    if not len(possible):
        return None
    keep[possible[0]] = True
    return "nothing that the rules leave has worked yet: one that they prune is measured"


def _safest(outcomes: Sequence[Outcome], probability: NDArray[np.float64]) -> NDArray[np.int64]:
    """Fewest hard limits exceeded, then fewest rules, then least beyond them, then the gate."""
    hard, soft, beyond = (np.zeros(len(probability)) for _ in range(3))
    for outcome in outcomes:
        (hard if outcome.hard else soft)[~outcome.keep] += 1
        beyond += outcome.violation()
    return np.lexsort((np.nan_to_num(probability), beyond, soft, hard))


def _last_straw(specs: Sequence[str], code: NDArray[np.int64], gate: str) -> str:
    """The last in order that still pruned something: after it nothing was left."""
    return gate if (code == GATE).any() else specs[int(code.max())]
