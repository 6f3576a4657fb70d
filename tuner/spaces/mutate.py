"""Mutators for TVM's own evolutionary search over the accelerators' sketches."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms

TILE_SHARE = 0.7  # of the mutations; the rest changes a categorical


@derived_object
class MutateCategorical(ms.mutator.PyMutator):  # type: ignore[misc]
    """Give one categorical decision (a buffer count) another value.

    TVM's ``MutateTileSize`` never touches categoricals, so that a search would keep the values that
    the initial population happened to have.
    """

    def _initialize_with_tune_context(self, context: Any) -> None:
        pass

    def apply(self, trace: Any, rand_state: int) -> Any:
        """A mutated copy of ``trace``; None where it has no categorical with a choice."""
        return change_categorical(trace, abs(rand_state))

    def clone(self) -> Any:
        """A new mutator; there is no state."""
        return MutateCategorical()


def change_categorical(trace: Any, seed: int) -> Any:
    """``trace`` with one categorical decision changed; None where there is no choice."""
    sites = [i for i in trace.insts if _choices(i) > 1 and i in trace.decisions]
    if not sites:
        return None
    rng = np.random.default_rng(seed)
    site = sites[rng.integers(len(sites))]
    step = 1 + int(rng.integers(_choices(site) - 1))
    decision = (int(trace.decisions[site]) + step) % _choices(site)
    return trace.with_decision(site, decision, remove_postproc=True)


def _choices(inst: Any) -> int:
    return len(inst.attrs[0]) if inst.kind.name == "SampleCategorical" else 0


def mutator_probs() -> dict[Any, float]:
    """Mutator -> probability."""
    return {ms.mutator.MutateTileSize(): TILE_SHARE, MutateCategorical(): 1 - TILE_SHARE}
