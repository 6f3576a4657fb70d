"""The reference of a space that was measured whole: its oracle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tuner.bench.reference import Kind, Part, Reference
from tuner.decisions import IntColumn
from tuner.oracle import Oracle
from tuner.runs import Reduced
from tuner.truth import BoolColumn

PART = 2**14  # candidates whose kernel table is held at a time


@dataclass(frozen=True, eq=False)
class Whole(Reference):
    """Every candidate of a problem by its rank; what it says is exact."""

    kind: ClassVar[Kind] = "oracle"

    oracle: Oracle

    @classmethod
    def of(cls, oracle: Oracle) -> Whole:
        """The oracle as a reference."""
        return cls(oracle.problem, oracle.latency_us, oracle.rejects, oracle)

    def parts(self) -> Iterator[Part]:
        """Random parts: some rules judge a candidate by its company."""
        shuffled = np.random.default_rng(0).permutation(len(self))
        for first in range(0, len(shuffled), PART):
            rows = np.sort(shuffled[first : first + PART])
            pool = self.oracle.pool_of(rows)
            yield Part(rows, pool, *self.problem.read(pool))

    def locate(self, index: int) -> tuple[int, IntColumn]:
        """``(sketch, decision row)`` of one candidate."""
        return self.oracle.pool_of(np.array([index])).locate(0)

    def kept_by_task(self, kept: Sequence[Reduced]) -> BoolColumn:
        """``(n,)``: which candidates the task stage leaves."""
        return self.oracle.allowed([result.allowed for result in kept])

    def node_validity(self) -> list[dict[str, BoolColumn]]:
        """For each sketch and decision, which values have a valid completion."""
        return self.oracle.node_validity()
