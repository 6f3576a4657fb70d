"""The tuning loop: propose, prune, replay, measure, learn; every candidate goes into the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hwsim.farm import Farm
from hwsim.table import KernelTable
from pruner.trial import Judgement, TrialStage
from pruner.verdict import Verdict
from traces import End, LogWriter, Measurement, Note, Trial
from tuner.cost_model import TreeCostModel
from tuner.decisions import IntColumn
from tuner.measure import Backend, Job
from tuner.problem import Problem
from tuner.search import Pool, Strategy

POOL = 8  # candidates proposed for each one that a round measures
EMPTY_ROUNDS = 8  # rounds without a single survivor before the run gives up, and says so
# Replaying one candidate and running TVM's verifier on it: 2.4 ms + 3.0 ms, measured on a 1024^3
# GEMM with TVM 0.27 on one core.
REPLAY_S = 0.0054


class Progress(Protocol):
    """Told after every round how a run stands."""

    def __call__(self, measured: int, pruned: int, failed: int, best_us: float) -> None:
        """Counts so far and the best measured mean latency (``inf``: none)."""
        ...


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
class Tally:
    """How a run stands."""

    trials: int = 0
    measured: int = 0
    pruned: int = 0
    failed: int = 0
    virtual_s: float = 0.0
    best_us: float = float("inf")
    best: tuple[str, int, IntColumn] | None = None


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
    log: LogWriter
    budget: Budget
    seed: int
    progress: Progress | None = None
    stopped: Callable[[], bool] = lambda: False
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self._model = TreeCostModel(self.problem.chip, self.seed)
        self._farm = Farm(self.problem.chip.bench)
        self._round = 0

    def run(self) -> Tally:
        """Go on until the budget is spent, the space is exhausted or the run is stopped."""
        reason, empty = "budget", 0
        while self.tally.measured < self.budget.trials:
            if self.stopped():
                self.log.flush()
                return self.tally
            pool, order = self.strategy.propose(POOL * self._wanted(), self._score())
            if not len(pool):
                reason = "space exhausted"
                break
            empty = 0 if self._one_round(pool, order) else empty + 1
            if empty == EMPTY_ROUNDS:
                reason = f"starved: no candidate survived {EMPTY_ROUNDS} rounds"
                self._note(reason)
                break
        self._end(reason)
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
            self._note(judgement.note)
        offers = self._offer(pool, order, hashes, judgement)
        chosen = [o for o in offers if o.job is not None]
        self._measure(chosen)
        self._learn(table, offers)
        self._write(offers)
        self._round += 1
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
        known = self.log.known
        missing = [o.job for o in chosen if o.job is not None and o.candidate not in known]
        fresh = dict(
            zip([j.candidate for j in missing], self.backend.measure(missing), strict=True)
        )
        for offer in chosen:
            offer.measurement = known.get(offer.candidate) or fresh[offer.candidate]
        compile_s = np.array([o.measurement.compile_s for o in chosen if o.measurement])
        run_s = np.array([o.measurement.run_s for o in chosen if o.measurement])
        self.tally.virtual_s += self._farm.batch_seconds(compile_s, run_s)

    def _learn(self, table: KernelTable, offers: list[_Offer]) -> None:
        measured = [o for o in offers if o.measurement is not None]
        latency = np.array([o.measurement.mean_us for o in measured if o.measurement])
        self._penalise([o for o in offers if o.job is None])
        for offer, us in zip(measured, latency, strict=True):
            self.strategy.observe(offer.sketch, offer.row, float(us))
            if us < self.tally.best_us:
                self.tally.best_us = float(us)
                self.tally.best = (offer.candidate, offer.sketch, offer.row)
        if not measured:
            return
        kernels = table.take_candidates([o.index for o in measured])
        self._model.update(kernels, latency)
        if self.stage is not None:
            self.stage.observe(kernels, [o.candidate for o in measured], latency)

    def _penalise(self, skipped: list[_Offer]) -> None:
        penalty_us = self.stage.penalty_us if self.stage else float("inf")
        for offer in skipped:
            self.strategy.observe(offer.sketch, offer.row, penalty_us)

    def _write(self, offers: list[_Offer]) -> None:
        tally = self.tally
        for offer in offers:
            if offer.measurement is None:
                tally.pruned += 1
            else:
                tally.measured += 1
                tally.failed += offer.measurement.failure is not None
            self.log.write(self._trial(offer))
            tally.trials += 1
        self.log.flush()
        if self.progress:
            self.progress(tally.measured, tally.pruned, tally.failed, tally.best_us)

    def _trial(self, offer: _Offer) -> Trial:
        verdict: Any = offer.verdict
        return Trial(
            index=self.tally.trials,
            round=self._round,
            candidate=offer.candidate,
            sketch=offer.sketch,
            decisions=[int(v) for v in offer.row],
            verdict=verdict,
            measurement=offer.measurement,
            virtual_s=round(self.tally.virtual_s, 6),
        )

    def _note(self, text: str) -> None:
        self.log.write(Note(round=self._round, text=text))

    def _end(self, reason: str) -> None:
        tally = self.tally
        self.log.write(
            End(
                measured=tally.measured,
                pruned=tally.pruned,
                failed=tally.failed,
                best_us=tally.best_us if tally.best else None,
                best_candidate=tally.best[0] if tally.best else None,
                virtual_s=round(tally.virtual_s, 6),
                reason=reason,
            )
        )
        self.log.flush()
