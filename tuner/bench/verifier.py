"""Whether the columns predict TVM's verdict on candidates of a GPU, as a table.

``python -m tuner.bench.verifier CHIP [WORKLOAD ...]`` (without names: the catalogue).  Of each
workload 2,000 candidates, half of them predicted to be accepted, are replayed and verified by TVM.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.chips import load_chip
from tuner.problem import Problem
from tuner.search import Pool
from tuner.search.space import IntMatrix, SketchSpace
from tuner.workloads import resolve
from tuner.workloads.catalogue import SPECS

CANDIDATES = 2000
_DRAWN = 65_536  # of each sketch; of a smaller one all there are


@dataclass(frozen=True)
class Agreement:
    """Candidates by what TVM says of them, and the predictions that were wrong."""

    workload: str
    accepted: int
    rejected: int
    wrongly_accepted: int
    wrongly_rejected: int


def agreement(problem: Problem, candidates: int = CANDIDATES, seed: int = 0) -> Agreement:
    """Predict and verify ``candidates``, half of each verdict where there are so many."""
    rng = np.random.default_rng(seed)
    pool = Pool(tuple(_rows(sketch.space, rng) for sketch in problem.sketches))
    rejects = problem.rejects(problem.kernels(pool))
    half = candidates // 2
    chosen = np.concatenate([_some(rejects == verdict, half, rng) for verdict in (False, True)])
    predicted = rejects[chosen]
    verified = np.array([_verdict(problem, pool, int(i)) for i in chosen], dtype=bool)
    return Agreement(
        workload=problem.workload.name,
        accepted=int((~verified).sum()),
        rejected=int(verified.sum()),
        wrongly_accepted=int((~predicted & verified).sum()),
        wrongly_rejected=int((predicted & ~verified).sum()),
    )


def _rows(space: SketchSpace, rng: np.random.Generator) -> IntMatrix:
    if space.size <= _DRAWN:
        return space.enumerate()
    return np.unique(space.sample(_DRAWN, rng), axis=0)


def _some(mask: NDArray[np.bool_], most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    found = np.flatnonzero(mask)
    return np.sort(rng.choice(found, min(most, len(found)), replace=False))


def _verdict(problem: Problem, pool: Pool, index: int) -> bool:
    """Whether TVM rejects a candidate."""
    return problem.lower(*pool.locate(index)).rejection is not None


def table(rows: Iterable[Agreement]) -> Iterable[str]:
    """Lines of Markdown."""
    yield "| workload | accepted | rejected | wrongly accepted | wrongly rejected |"
    yield "|---|---:|---:|---:|---:|"
    errors = total = 0
    for r in rows:
        errors += r.wrongly_accepted + r.wrongly_rejected
        total += r.accepted + r.rejected
        cells = (r.workload, r.accepted, r.rejected, r.wrongly_accepted, r.wrongly_rejected)
        yield "| " + " | ".join(map(str, cells)) + " |"
    yield f"{errors} wrong predictions of {total:,} candidates"


if __name__ == "__main__":
    chip = load_chip(sys.argv[1])
    problems = (Problem.of(resolve(name), chip) for name in sys.argv[2:] or SPECS)
    for line in table(map(agreement, problems)):
        print(line, flush=True)
