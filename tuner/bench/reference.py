"""The reference that regret is computed against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hwsim.table import KernelTable
from pruner.task_stage import TaskResult
from pruner.trial import TrialStage
from tuner.problem import Problem
from tuner.runs import Reduced, search_spaces, strategy
from tuner.search import Evolutionary, Pool, Strategy
from tuner.truth import BoolColumn, FloatColumn, truth, truth_of

SAMPLE, SAMPLE_BY_REPLAY = 8192, 512  # random candidates of the reference
CLIMBS = 12  # rounds of the search that climbs with the simulator as its cost model
CLIMB_STEP = 128
COMPLETIONS = 32  # sampled for each node to find out whether it is valid


@dataclass(frozen=True)
class Reference:
    """Candidates of a problem, once each, with their truth and their kernel table.

    ``readable`` ``(n,)`` says which of them the table has.
    """

    pool: Pool
    latency_us: FloatColumn
    table: KernelTable
    readable: BoolColumn

    @property
    def optimum_us(self) -> float:
        """Best latency; ``inf`` where nothing works."""
        return float(self.latency_us.min(initial=np.inf))


def build(problem: Problem, met: Sequence[Pool], seed: int) -> Reference:
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
    return Reference(joined, truth_of(problem, table, readable).latency_us, table, readable)


def _observe(search: Strategy, pool: Pool, latency_us: FloatColumn) -> None:
    for i in np.argsort(latency_us, kind="stable")[:64]:
        search.observe(*pool.locate(int(i)), float(latency_us[i]))


def kept_by_rules(
    problem: Problem, reference: Reference, kept: list[TaskResult] | None, stage: TrialStage | None
) -> BoolColumn:
    """Which reference candidates survive the task stage and the rules (the gate left aside)."""
    keep = np.ones(len(reference.pool), dtype=bool)
    if kept is not None:
        keep &= survive_task(problem, reference.pool, kept)
    if stage is not None:
        names = [str(i) for i in range(reference.table.n_candidates)]
        judgement = stage.judge(reference.table, names, rescue=False)
        keep[reference.readable] &= judgement.code < 0
    return keep


def survive_task(problem: Problem, pool: Pool, kept: Sequence[Reduced]) -> BoolColumn:
    """``(n,)``: which candidates of a pool have none but values that are left."""
    spaces = search_spaces(problem, kept)
    parts = []
    for space, matrix in zip(spaces, pool.matrices, strict=True):
        inside = np.ones(len(matrix), dtype=bool)
        for choice in space.choices:
            inside &= choice.holds(matrix[:, choice.start : choice.stop])
        parts.append(inside)
    return np.concatenate(parts)


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
