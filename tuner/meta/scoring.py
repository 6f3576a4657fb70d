"""The prior's scores of a pool of candidates, where the trial stage asks for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hwsim.table import KernelTable
from pruner.trial import TrialStage
from tuner.meta.encode import graph
from tuner.problem import Problem
from tuner.search import Pool


def prior_scores(
    problem: Problem,
    stage: TrialStage | None,
    pool: Pool,
    table: KernelTable,
    readable: NDArray[np.bool_],
) -> NDArray[np.float64] | None:
    """``(n_candidates,)`` of ``table``; None where no prior is asked.

    ``nan`` for candidates whose loops differ within a sketch or are not known before a replay.
    """
    if stage is None or stage.graph_prior is None or not stage.graph_prior_asked:
        return None
    out, at = np.full(table.n_candidates, np.nan), 0
    edges = np.cumsum([len(m) for m in pool.matrices])[:-1]
    for sketch, matrix, mask in zip(
        problem.sketches, pool.matrices, np.split(readable, edges), strict=True
    ):
        place = np.arange(at, at + int(mask.sum()))
        at += len(place)
        if sketch.road != "columns" or not len(place):
            continue
        try:
            nest = sketch.nest(matrix[mask])
        except ValueError:  # several loop structures: sampled compute locations
            continue
        part = graph(nest, table.take_candidates(place), problem.chip)
        out[place] = stage.graph_prior.model.score(part)
    return out
