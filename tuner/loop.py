"""The tuning loop: propose, prune, replay, measure, learn; every candidate goes into the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.table import KernelTable
from pruner.judgement import Judgement
from pruner.trial import TrialStage
from pruner.verdict import Verdict
from traces import Measurement
from tuner.cost_model import TreeCostModel
from tuner.decisions import IntColumn
from tuner.journal import Journal, Tally
from tuner.measure import Backend, Job, Recalled
from tuner.problem import Problem
from tuner.search import Pool, Strategy

POOL = 8  # candidates proposed for each one that a round measures
EMPTY_ROUNDS = 8  # rounds without a single survivor before the run gives up, and says so
# Replaying one candidate and running TVM's verifier on it: 2.4 ms + 3.0 ms, measured on a 1024^3
# GEMM with TVM 0.27 on one core.
REPLAY_S = 0.0054


@dataclass(frozen=True)
class Budget:
    """When a run ends and how it measures: ``trials`` measurements, ``batch`` a round."""

    trials: int
    batch: int


@dataclass
class _Offer:
    """One candidate on its way through a round."""

    index: int  # in the pool
    candidate: str
    sketch: int
    row: IntColumn
    verdict: Verdict | None = None
    job: Job | None = None
    measurement: Measurement | None = None


@dataclass
class Loop:
    """One run.

    ``stage`` is the trial stage, ``None`` keeps everything.  ``stopped`` is asked between rounds;
    a run that is stopped leaves a log that ``--resume`` goes on with.
    """

    problem: Problem
    strategy: Strategy
    stage: TrialStage | None
    backend: Backend
    journal: Journal
    budget: Budget
    seed: int
    stopped: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        self._model = TreeCostModel(self.problem.chip, self.seed)
        self._recalled = Recalled(self.backend, self.journal.log.known)

    @property
    def tally(self) -> Tally:
        """How the run stands."""
        return self.journal.tally

    def run(self) -> Tally:
        """Go on until the budget is spent, the space is exhausted or the run is stopped."""
        reason, empty = "budget", 0
        while self.tally.measured < self.budget.trials:
            if self.stopped():
                self.journal.log.flush()
                return self.tally
            pool, order = self.strategy.propose(POOL * self._wanted(), self._score())
            if not len(pool):
                reason = "space exhausted"
                break
            empty = 0 if self._one_round(pool, order) else empty + 1
            if empty == EMPTY_ROUNDS:
                reason = f"starved: no candidate survived {EMPTY_ROUNDS} rounds"
                self.journal.note(reason)
                break
        self.journal.end(reason)
        return self.tally

    def _wanted(self) -> int:
        return min(self.budget.batch, self.budget.trials - self.tally.measured)

    def _score(self) -> Callable[[Pool], NDArray[np.float64]] | None:
        if not self._model.ready:
            return None

        def score(pool: Pool) -> NDArray[np.float64]:
            if not len(pool):
                return np.empty(0)
            return self._model.predict(self.problem.kernels(pool))

        return score

    def _one_round(self, pool: Pool, order: NDArray[np.int64]) -> int:
        """Judge, verify, measure, learn; the number of candidates measured."""
        table = self.problem.kernels(pool)
        hashes = self.problem.hashes(pool)
        judgement = self.stage.judge(table, hashes) if self.stage else None
        if judgement is not None and judgement.note:
            self.journal.note(judgement.note)
        offers = self._offer(pool, order, hashes, judgement)
        chosen = [o for o in offers if o.job is not None]
        self._measure(chosen)
        self._learn(table, offers, judgement)
        self._write(offers)
        return len(chosen)

    def _offer(
        self,
        pool: Pool,
        order: NDArray[np.int64],
        hashes: list[str],
        judgement: Judgement | None,
    ) -> list[_Offer]:
        """Walk the pool in order of preference until the round's batch is full."""
        offers: list[_Offer] = []
        open_places = self._wanted()
        for i in map(int, order):
            if not open_places:
                break
            sketch, row = pool.locate(i)
            offer = _Offer(i, hashes[i], sketch, row)
            offers.append(offer)
            if judgement is not None:
                offer.verdict = judgement.verdict(i)
                if not judgement.keep[i]:
                    continue
            if self._verified(offer):
                open_places -= 1
        return offers

    def _verified(self, offer: _Offer) -> bool:
        """Replay the candidate; TVM's own postprocessors may still reject it."""
        self.tally.virtual_s += REPLAY_S
        rejected_by, handle = self.problem.verify(offer.candidate, offer.sketch, offer.row)
        if rejected_by is None:
            offer.job = Job(offer.candidate, handle)
            return True
        offer.verdict = Verdict(
            keep=False,
            stage="verifier",
            rule=rejected_by,
            reason="TVM's own postprocessor rejects the replayed schedule",
        )
        return False

    def _measure(self, chosen: list[_Offer]) -> None:
        measured = self._recalled.measure([o.job for o in chosen if o.job is not None])
        for offer, measurement in zip(chosen, measured, strict=True):
            offer.measurement = measurement
        self.journal.charge(measured)

    def _learn(self, table: KernelTable, offers: list[_Offer], judgement: Judgement | None) -> None:
        measured = [o for o in offers if o.measurement is not None]
        latency = np.array([o.measurement.mean_us for o in measured if o.measurement])
        self._penalise([o for o in offers if o.job is None], judgement)
        for offer, us in zip(measured, latency, strict=True):
            self.strategy.observe(offer.sketch, offer.row, float(us))
        if not measured:
            return
        kernels = table.take_candidates([o.index for o in measured])
        self._model.update(kernels, latency)
        if self.stage is not None:
            self.stage.observe(kernels, [o.candidate for o in measured], latency)

    def _penalise(self, skipped: list[_Offer], judgement: Judgement | None) -> None:
        """What was not worth measuring gets its penalty value; what cannot run is no parent."""
        for offer in skipped:
            penalty_us = float("nan") if judgement is None else judgement.penalty_us[offer.index]
            rejected = np.isnan(penalty_us)  # kept by the trial stage, so TVM's verifier had it
            self.strategy.observe(offer.sketch, offer.row, np.inf if rejected else penalty_us)

    def _write(self, offers: list[_Offer]) -> None:
        for o in offers:
            self.journal.trial(o.candidate, o.sketch, o.row, o.verdict, o.measurement)
        self.journal.close_round()
