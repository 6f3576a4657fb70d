"""One space that a rule is held against: its truth, and what prunes it without the rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.rulesets import Rules
from pruner.trial import TrialStage
from tuner.bench.metrics import NEAR
from tuner.bench.sampled import node_validity, sample, survive_task
from tuner.oracle.measured import Oracle
from tuner.problem import Problem
from tuner.runs import task_stage
from tuner.search import Pool
from tuner.truth import BoolColumn, FloatColumn

CHUNK = 4096  # candidates that a rule is asked about at once
HELD = 100_000  # candidates whose kernel tables are kept, rather than read for every rule

Part = tuple[NDArray[np.int64], KernelTable]  # indices of candidates, and their kernels


@dataclass(frozen=True, eq=False)
class Case:
    """A problem and the truth of ``n`` of its candidates.

    ``base`` is the rule set that the rule would stand behind; ``oracle``: where the candidates are
    all that the space has.
    """

    problem: Problem
    pool: Pool
    latency_us: FloatColumn
    base: Rules
    oracle: Oracle | None = None

    @classmethod
    def of_problem(cls, problem: Problem, base: Rules, seed: int) -> Case:
        """Against a reference as the benchmark has it: sampled, and climbed with the simulator."""
        reference = sample(problem, [], seed)
        return cls(problem, reference.part.pool, reference.latency_us, base)

    @classmethod
    def of_oracle(cls, oracle: Oracle, base: Rules) -> Case:
        """Against a space that was measured whole."""
        return cls(oracle.problem, oracle.pool, oracle.latency_us, base, oracle)

    @property
    def label(self) -> str:
        """Chip, and the space or workload."""
        return f"{self.chip.name} {self.problem.label}"

    @property
    def chip(self) -> Chip:
        """The problem's chip."""
        return self.problem.chip

    @property
    def n(self) -> int:
        """How many candidates there are."""
        return len(self.latency_us)

    @property
    def exhaustive(self) -> bool:
        """Whether they are all that the space has."""
        return self.n == self.problem.size

    @property
    def optimum_us(self) -> float:
        """The best latency; ``inf`` where nothing works."""
        return float(self.latency_us.min(initial=np.inf))

    @cached_property
    def near(self) -> BoolColumn:
        """``(n,)``: works, and is within 5 % of the optimum."""
        latency_us = self.latency_us
        return np.isfinite(latency_us) & (latency_us <= self.optimum_us * (1 + NEAR))

    @property
    def kept_by_base(self) -> BoolColumn:
        """``(n,)``: what the base rule set leaves, both stages, the gate aside."""
        return self._kept[0]

    @property
    def passes_verifier(self) -> BoolColumn:
        """``(n,)``: what TVM's own verifier lets pass."""
        return self._kept[1]

    @cached_property
    def _kept(self) -> tuple[BoolColumn, BoolColumn]:
        base = survive_task(self.problem, self.pool, task_stage(self.problem, self.base))
        stage = TrialStage(self.base.trial, None, self.chip)
        verifier = np.ones(self.n, dtype=bool)
        for part, table in self.chunks():
            judged = stage.judge(table, [str(i) for i in part], rescue=False)
            base[part] &= judged.code < 0
            verifier[part] = ~self.problem.rejects(table)
        return base, verifier

    @cached_property
    def validity(self) -> list[dict[str, BoolColumn]]:
        """For each sketch and decision, which values have a valid completion: exactly where the
        space was measured whole, else in a sample.
        """
        return self.oracle.node_validity() if self.oracle else node_validity(self.problem, 0)

    def chunks(self) -> Iterator[Part]:
        """The candidates that can be read, in parts."""
        yield from self._held if self.n <= HELD else self._read()

    @cached_property
    def _held(self) -> list[Part]:
        return list(self._read())

    def _read(self) -> Iterator[Part]:
        index = np.arange(self.n)
        for start in range(0, self.n, CHUNK):
            inside = (index >= start) & (index < start + CHUNK)
            table, readable = self.problem.read(self.pool.take(inside))
            if len(table):
                yield index[inside][readable], table

    def chunk_of(self, candidate: int) -> tuple[int, KernelTable]:
        """The chunk that a candidate is in, and its place there."""
        for part, table in self.chunks():
            at = int(np.searchsorted(part, candidate))
            if at < len(part) and part[at] == candidate:
                return at, table
        raise LookupError(f"candidate {candidate} cannot be read")
