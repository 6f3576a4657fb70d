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
from pruner.task import Task
from pruner.trial import TrialStage
from tuner.bench.metrics import NEAR
from tuner.bench.reference import Reference, kept_by_rules
from tuner.describe import describe
from tuner.problem import Problem
from tuner.runs import task_stage
from tuner.truth import BoolColumn

CHUNK = 4096  # candidates that a rule is asked about at once


@dataclass(frozen=True, eq=False)
class Case:
    """A problem and its reference of ``n`` candidates.

    ``base`` is the rule set that the rule would stand behind.
    """

    problem: Problem
    reference: Reference
    base: Rules

    @property
    def name(self) -> str:
        """What the space is called where it is a part of the workload's; else empty."""
        return self.problem.space

    @property
    def chip(self) -> Chip:
        """The problem's chip."""
        return self.problem.chip

    @property
    def n(self) -> int:
        """Candidates of the reference."""
        return len(self.reference.pool)

    @property
    def exhaustive(self) -> bool:
        """Whether the reference has every candidate of the space."""
        return self.n == self.problem.size

    @cached_property
    def near(self) -> BoolColumn:
        """``(n,)``: works, and is within 5 % of the optimum."""
        latency_us = self.reference.latency_us
        return np.isfinite(latency_us) & (latency_us <= self.reference.optimum_us * (1 + NEAR))

    @cached_property
    def kept_by_base(self) -> BoolColumn:
        """``(n,)``: what the base rule set leaves, both stages, the gate aside."""
        kept = task_stage(self.problem, self.base)
        stage = TrialStage(self.base.trial, None, self.chip)
        return kept_by_rules(self.problem, self.reference, kept, stage)

    @cached_property
    def passes_verifier(self) -> BoolColumn:
        """``(n,)``: what TVM's own verifier lets pass."""
        out = np.ones(self.n, dtype=bool)
        out[self.reference.readable] = ~self.problem.rejects(self.reference.table)
        return out

    @cached_property
    def tasks(self) -> list[Task]:
        """Every sketch as the task stage sees it."""
        return [describe(sketch) for sketch in self.problem.sketches]

    @cached_property
    def row_of(self) -> NDArray[np.int64]:
        """``(n,)``: a candidate's place in the kernel table, -1 where it cannot be read."""
        readable = self.reference.readable
        return np.where(readable, np.cumsum(readable) - 1, -1)

    def chunks(self) -> Iterator[tuple[NDArray[np.int64], KernelTable]]:
        """The readable candidates in parts: their indices into the reference, and their table."""
        readable = np.flatnonzero(self.reference.readable)
        for start in range(0, len(readable), CHUNK):
            part = readable[start : start + CHUNK]
            yield part, self.reference.table.take_candidates(self.row_of[part])
