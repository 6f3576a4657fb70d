"""From a recipe to its problem: the design space with the decisions that the recipe leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.chips import load_chip
from tuner.decisions import Decision, IntMatrix
from tuner.oracle.recipes import OracleError, Recipe, Values
from tuner.problem import Problem
from tuner.sketch import Sketch
from tuner.workloads import resolve


def problem_of(recipe: Recipe, chip: Chip | None = None) -> Problem:
    """The problem of a recipe; ``chip`` takes the place of the recipe's own.

    Strategies, task stage and node counts see the restricted options; the sketches are numbered
    anew.  Candidates keep the hashes that they have in the unrestricted space.

    Raises
    ------
    OracleError
        The recipe names a sketch, a decision or a value that the design space does not have.
    """
    whole = Problem.of(resolve(recipe.workload), load_chip(recipe.chip) if chip is None else chip)
    _check_names(recipe, whole)
    kept = recipe.sketches or range(len(whole.sketches))
    sketches = (_restricted(recipe, whole.sketches[s], i) for i, s in enumerate(kept))
    return replace(whole, sketches=tuple(sketches), space=recipe.name)


def _check_names(recipe: Recipe, whole: Problem) -> None:
    missing = [s for s in recipe.sketches if not 0 <= s < len(whole.sketches)]
    if missing:
        raise OracleError(
            f"space {recipe.name}: no sketch {missing[0]}, there are {len(whole.sketches)}"
        )
    known = {d.name for sketch in whole.sketches for d in sketch.decisions}
    for name in recipe.only:
        if name not in known:
            raise OracleError(f"space {recipe.name}: no decision {name!r}")


def _restricted(recipe: Recipe, sketch: Sketch, index: int) -> Sketch:
    decisions = tuple(
        _only(recipe, d, recipe.only[d.name]) if d.name in recipe.only else d
        for d in sketch.decisions
    )
    return replace(sketch, index=index, decisions=decisions)


def _only(recipe: Recipe, d: Decision, wanted: Values) -> Decision:
    options = d.options()
    if d.kind == "perfect_tile":
        keep = _parts_allowed(options, wanted)
    else:
        values = np.array(d.candidates)[options] if d.kind == "categorical" else options
        keep = np.isin(values[:, 0], wanted)
    if not keep.any():
        raise OracleError(f"space {recipe.name}: {d.name} has no value in {wanted}")
    return replace(d, only=tuple(map(tuple, options[keep].tolist())))


def _parts_allowed(options: IntMatrix, wanted: Values) -> NDArray[np.bool_]:
    """Which tiles ``(m, parts)`` have each factor in its part's list; none where a list lacks."""
    keep = np.full(len(options), len(wanted) == options.shape[1])
    for part, factors in zip(options.T, wanted, strict=False):
        keep &= np.isin(part, factors) if factors else True
    return keep
