"""The reference of a space that is too large to be measured whole: a sample of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tuner.bench.reference import Kind, Part, Reference
from tuner.decisions import IntColumn
from tuner.problem import Problem
from tuner.runs import Reduced, search_spaces, strategy
from tuner.search import Evolutionary, Pool, Strategy
from tuner.truth import BoolColumn, FloatColumn, truth, truth_of

SAMPLE, SAMPLE_BY_REPLAY = 8192, 512  # random candidates of the reference
CLIMBS = 8  # rounds of the search that climbs with the simulator as its cost model
CLIMB_STEP = 128
COMPLETIONS = 32  # sampled for each node to find out whether it is valid


@dataclass(frozen=True, eq=False)
class Sample(Reference):
    """Candidates of a problem, once each, all in one ``part``; ``seed`` as of :func:`sample`."""

    kind: ClassVar[Kind] = "sample"

    part: Part
    seed: int

    def parts(self) -> Iterator[Part]:
        """All of them at once: there are few."""
        yield self.part

    def locate(self, index: int) -> tuple[int, IntColumn]:
        """``(sketch, decision row)`` of one candidate."""
        return self.part.pool.locate(index)

    def kept_by_task(self, kept: Sequence[Reduced]) -> BoolColumn:
        """``(n,)``: which candidates the task stage leaves."""
        return survive_task(self.problem, self.part.pool, kept)

    def node_validity(self) -> list[dict[str, BoolColumn]]:
        """For each sketch and decision, which values have a valid completion among a sample."""
        return node_validity(self.problem, self.seed)


def survive_task(problem: Problem, pool: Pool, kept: Sequence[Reduced]) -> BoolColumn:
    """``(n,)``: which candidates of a pool have none but values that are left."""
    parts = zip(search_spaces(problem, kept), pool.matrices, strict=True)
    return np.concatenate([space.holds(matrix) for space, matrix in parts])


def sample(problem: Problem, met: Sequence[Pool], seed: int) -> Sample:
    """A random sample, a climb with perfect knowledge, and what the runs met."""
    search = strategy(problem, Evolutionary.name, None, seed)
    pools = [*met, search.propose(SAMPLE if problem.cheap else SAMPLE_BY_REPLAY, None)[0]]
    for pool in pools:
        _observe(search, pool, truth(problem, pool).latency_us)
    for _ in range(CLIMBS):
        pool, _ = search.propose(CLIMB_STEP, lambda p: np.log(truth(problem, p).latency_us))
        if not len(pool):
            break
        _observe(search, pool, truth(problem, pool).latency_us)
        pools.append(pool)
    joined = Pool(tuple(np.unique(m, axis=0) for m in Pool.concat(pools).matrices))
    table, readable = problem.read(joined)
    part = Part(np.arange(len(joined)), joined, table, readable)
    found = truth_of(problem, table, readable)
    return Sample(problem, found.latency_us, found.rejects, part, seed)


def _observe(search: Strategy, pool: Pool, latency_us: FloatColumn) -> None:
    for i in np.argsort(latency_us, kind="stable")[:64]:
        search.observe(*pool.locate(int(i)), float(latency_us[i]))


def node_validity(problem: Problem, seed: int) -> list[dict[str, BoolColumn]]:
    """For each sketch and decision, which values have a valid completion among a sample."""
    rng = np.random.default_rng(seed)
    spaces = search_spaces(problem, None)
    out = []
    for s, space in enumerate(spaces):
        found: dict[str, BoolColumn] = {}
        for choice in space.choices:
            m = len(choice.options)
            matrix = space.sample(m * COMPLETIONS, rng)
            matrix[:, choice.start : choice.stop] = np.repeat(choice.options, COMPLETIONS, axis=0)
            alone = [np.empty((0, x.width), dtype=np.int64) for x in spaces]
            alone[s] = matrix
            latency = truth(problem, Pool(tuple(alone))).latency_us
            found[choice.name] = np.asarray(np.isfinite(latency).reshape(m, -1).any(axis=1))
        out.append(found)
    return out
