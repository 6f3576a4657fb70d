"""The candidates of one round of a run, on their way from the strategy to the board."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.table import KernelTable
from pruner.judgement import GATE, KEPT, Judgement
from pruner.verdict import Verdict
from traces import Measurement
from tuner.decisions import IntColumn
from tuner.measure import Job
from tuner.search import Pool


@dataclass
class Offer:
    """One candidate: ``place`` in the round's kernel table, -1 where it cannot be read.

    ``penalty_us`` is what a strategy should take what is skipped for: ``inf`` for what cannot run.
    ``predicted_us`` is what the cost model said before it learnt the measurement.
    """

    place: int
    candidate: str
    sketch: int
    row: IntColumn
    verdict: Verdict | None = None
    penalty_us: float = float("inf")
    job: Job | None = None
    measurement: Measurement | None = None
    predicted_us: float | None = None

    @property
    def pruned(self) -> bool:
        """Whether the trial stage skips the candidate."""
        return self.verdict is not None and not self.verdict.keep

    @property
    def latency_us(self) -> float:
        """The mean of what was measured (``inf``: a failure), else the penalty."""
        return self.measurement.mean_us if self.measurement is not None else self.penalty_us


@dataclass(frozen=True)
class Round:
    """A pool with what is known of its candidates before anything is replayed.

    ``place`` ``(n,)`` says where a candidate stands in ``table``.  The search may come across some
    that cannot be read (-1): they are not judged, TVM and the board have the word on them.
    ``rejected`` says of the table's candidates which ones TVM's verifier drops.
    """

    pool: Pool
    hashes: list[str]
    table: KernelTable
    place: NDArray[np.int64]
    judgement: Judgement | None
    rejected: NDArray[np.bool_]

    @property
    def shut(self) -> bool:
        """Whether the gate prunes all that the rules leave, and no limit is put to the test."""
        if self.judgement is None or self.judgement.tests.any():
            return False
        code = self.judgement.code
        return bool((code == GATE).any() and not (code == KEPT).any())

    def tests_first(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """An order of preference, but what puts a hard limit to the test comes first."""
        if self.judgement is None or not self.judgement.tests.any():
            return order
        test = (self.place >= 0) & self.judgement.tests[self.place]
        return order[np.argsort(~test[order], kind="stable")]

    def offer(self, i: int) -> Offer:
        """Candidate ``i`` of the pool with its verdict."""
        sketch, row = self.pool.locate(i)
        offer = Offer(int(self.place[i]), self.hashes[i], sketch, row)
        if self.judgement is not None and offer.place >= 0:
            offer.verdict = self.judgement.verdict(offer.place)
            penalty_us = float(self.judgement.penalty_us[offer.place])
            offer.penalty_us = penalty_us if offer.pruned else offer.penalty_us
        return offer
