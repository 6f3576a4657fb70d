"""The tuning loop: propose, prune, replay, measure, learn; every candidate goes into the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.table import KernelTable
from pruner.judgement import Judgement
from pruner.trial import TrialStage
from pruner.verdict import Verdict
from traces import Measurement
from tuner.barred import Barred
from tuner.journal import Journal, Tally, broken
from tuner.measure import Backend, Job, Recalled
from tuner.meta.scoring import prior_scores
from tuner.models import CostModel
from tuner.offers import Offer, Round
from tuner.problem import Problem
from tuner.search import Pool, Strategy

BUDGET = "budget"  # why a run ends that measured as many candidates as it may
POOL = 8  # candidates proposed for each one that a round measures
PROPOSALS = 4  # proposals that a round makes at most to fill its batch
CLOSED_ROUNDS = 2  # rounds in which the gate lets nothing pass but probes, before a run ends
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
class Loop:
    """One run.

    ``stage`` is the trial stage, ``None`` keeps everything; ``model`` predicts for the
    strategy.  ``stopped`` is asked between rounds; a run that is stopped leaves a log
    that ``--resume`` goes on with.
    """

    problem: Problem
    strategy: Strategy
    stage: TrialStage | None
    backend: Backend
    journal: Journal
    budget: Budget
    model: CostModel
    stopped: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        self._recalled = Recalled(self.backend, self.journal.log.known)
        self._barred = Barred(self.problem)
        self._empty, self._closed, self._ended = 0, 0, False
        self.measured: list[Measurement] = []

    @property
    def tally(self) -> Tally:
        """How the run stands."""
        return self.journal.tally

    def run(self) -> Tally:
        """Go on until the budget is spent, the space is exhausted, the gate sees nothing better for
        a while, or the run is stopped.
        """
        while self.step():
            pass
        return self.tally

    def step(self) -> bool:
        """One round, whose measurements are then in :attr:`measured`; False where there is none
        left to make, or the run is stopped.
        """
        self.measured = []
        if self._over():
            return False
        offers, shut = self._one_round()
        self.measured = [o.measurement for o in offers if o.measurement is not None]
        self._empty = 0 if any(o.job for o in offers) else self._empty + 1
        self._closed = self._closed + 1 if shut and self.strategy.guided else 0
        if not offers:
            self.end("space exhausted")
        elif self._empty == EMPTY_ROUNDS:
            reason = _starved(offers)
            self.journal.note(reason)
            self.end(reason)
        elif self._closed == CLOSED_ROUNDS:
            self.end("converged: the gate sees nothing better than the best measured")
        return not self._ended

    def end(self, reason: str) -> None:
        """Close the log, unless it is closed; nothing is measured afterwards."""
        if not self._ended:
            self._ended = True
            self.journal.end(reason)

    def _over(self) -> bool:
        if not self._ended and self.tally.measured >= self.budget.trials:
            self.end(BUDGET)
        if not self._ended and self.stopped():
            self.journal.log.flush()
            return True
        return self._ended

    def _wanted(self) -> int:
        return min(self.budget.batch, self.budget.trials - self.tally.measured)

    def _score(self) -> Callable[[Pool], NDArray[np.float64]] | None:
        if not self.model.ready and self.stage is None:
            return None

        def score(pool: Pool) -> NDArray[np.float64]:
            table, readable = self.problem.read(pool)
            predicted = np.full(len(pool), np.inf)
            if len(table):
                known = self._scores(pool, table, readable)
                predicted[readable] = np.where(np.isnan(known), np.inf, known)
            return predicted

        return score

    def _scores(
        self, pool: Pool, table: KernelTable, readable: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Of the prior if it is asked, else of the model, and of the draft until that is ready."""
        scores = prior_scores(self.problem, self.stage, pool, table, readable)
        if scores is not None:
            return scores
        if self.model.ready or self.stage is None:
            return self.model.predict(table)
        return self.stage.draft(table)

    def _one_round(self) -> tuple[list[Offer], bool]:
        """Propose and judge until the batch is full; verify, measure, learn.

        The candidates that were looked at, none when the space is exhausted, and whether the gate
        let none of them pass but probes.
        """
        looked: list[tuple[Round, list[Offer]]] = []
        open_places = self._wanted()
        for _ in range(PROPOSALS):
            if not open_places:
                break
            pool, order = self.strategy.propose(POOL * self._wanted(), self._score())
            if not len(pool):
                break
            found = self._judged(pool)
            order = found.tests_first(order)
            offers = self._offer(found, order, open_places)
            unseen = ~np.isin(np.arange(len(pool)), order[: len(offers)])
            self.strategy.release(pool.take(unseen))
            open_places -= sum(o.job is not None for o in offers)
            looked.append((found, offers))
        everything = [o for _, offers in looked for o in offers]
        self._measure([o for o in everything if o.job is not None])
        self._learn(looked)
        self._write(everything)
        return everything, bool(looked) and all(found.shut for found, _ in looked)

    def _judged(self, pool: Pool) -> Round:
        table, readable = self.problem.read(pool)
        hashes, judgement = self.problem.hashes(pool), None
        if self.stage is not None and len(table):
            names = [hashes[i] for i in np.flatnonzero(readable)]
            scores = prior_scores(self.problem, self.stage, pool, table, readable)
            judgement = self.stage.judge(table, names, scores=scores)
            self._note(self.stage, judgement)
        place = np.where(readable, np.cumsum(readable) - 1, -1)
        return Round(pool, hashes, table, place, judgement, self.problem.rejects(table))

    def _note(self, stage: TrialStage, judgement: Judgement) -> None:
        if judgement.note:
            self.journal.note(judgement.note)
        for rule, error in stage.disabled.items():
            self.journal.note(broken(rule, error))

    def _offer(self, found: Round, order: NDArray[np.int64], open_places: int) -> list[Offer]:
        """Walk the pool in order of preference until the round's batch is full."""
        offers: list[Offer] = []
        for i in map(int, order):
            if not open_places:
                break
            offer = found.offer(i)
            offers.append(offer)
            if not offer.pruned and self._verified(found, offer):
                open_places -= 1
        return offers

    def _verified(self, found: Round, offer: Offer) -> bool:
        """Whether TVM's own postprocessors let the candidate pass.

        Where the kernel table comes from the columns road the answer is known without replaying;
        the virtual clock is charged for the replay that a real tuner makes.
        """
        self.tally.virtual_s += REPLAY_S
        handle, kernels = self.problem.handle(offer.sketch, offer.row), None
        rejection = None
        if by_columns := self.problem.sketches[offer.sketch].road == "columns":
            kernels = found.table.take_candidates([offer.place])
            rejection = self.problem.predicted(kernels) if found.rejected[offer.place] else None
        if rejection is None and (self.backend.needs_schedule or not by_columns):
            rejection = self.problem.rejection(offer.candidate, handle)
        if rejection is None:
            offer.job = Job(offer.candidate, handle, kernels)
            return True
        offer.verdict = Verdict(
            keep=False, stage="verifier", rule=rejection.by, reason=rejection.reason
        )
        return False

    def _measure(self, chosen: list[Offer]) -> None:
        jobs = [o.job for o in chosen if o.job is not None]
        measured = self._recalled.measure(jobs, self.tally.best_us)
        for offer, measurement in zip(chosen, measured, strict=True):
            offer.measurement = measurement
        self.journal.charge(measured)

    def _learn(self, looked: list[tuple[Round, list[Offer]]]) -> None:
        tables, readable = [], []
        for found, offers in looked:
            for o in offers:
                self.strategy.observe(o.sketch, o.row, o.latency_us)
                self._barred.add(o)
            measured = [o for o in offers if o.measurement is not None and o.place >= 0]
            if measured:
                tables.append(found.table.take_candidates([o.place for o in measured]))
                readable += measured
        if not readable:
            return
        kernels = KernelTable.concat(tables)
        latency = np.array([o.latency_us for o in readable])
        self._predict(readable, kernels)
        self.model.update(kernels, latency)
        if self.stage is not None:
            known = len(self.stage.limits.raised)
            self.stage.observe(kernels, [o.candidate for o in readable], latency)
            if len(self.stage.limits.raised) > known:  # what it barred may be proposed again
                self.strategy.release(self._barred.freed(self.stage))

    def _predict(self, measured: list[Offer], kernels: KernelTable) -> None:
        """Note what the model thinks of measured candidates that it has not learnt from yet."""
        if self.model.ready:
            for offer, log_us in zip(measured, self.model.predict(kernels), strict=True):
                offer.predicted_us = float(np.exp(log_us))

    def _write(self, offers: list[Offer]) -> None:
        for o in offers:
            self.journal.trial(
                o.candidate, o.sketch, o.row, o.verdict, o.measurement, o.predicted_us
            )
        for text in self.stage.limits.raised if self.stage else ():
            self.journal.note(text)
        self.journal.close_round()


def _starved(offers: list[Offer]) -> str:
    """Why a run gives up, naming what let nothing through in its last round."""
    rules = Counter(o.verdict.rule for o in offers if o.verdict is not None)
    rule = rules.most_common(1)[0][0]
    return f"starved: no candidate survived {EMPTY_ROUNDS} rounds, {rule} rejects most of them"
