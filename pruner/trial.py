"""The trial stage: rules, then the gate, then probes, over a batch of candidates at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.containment import Disabled
from pruner.dissent import Dissent
from pruner.draft import draft_us
from pruner.engine import Engine
from pruner.features import features
from pruner.gate import Gate, Opinion, not_asked
from pruner.judgement import GATE, KEPT, Judgement
from pruner.limits import Limits
from pruner.meta.prior import GraphPrior
from pruner.objections import Objections, objections
from pruner.recording.stage import single_stage
from pruner.rescue import spare
from pruner.rule import Rule
from pruner.spec import print_rule

BoolColumn = NDArray[np.bool_]


class TrialStage:
    """Judges candidates of one task on one chip and learns from their measurements.

    Parameters
    ----------
    rules:
        Trial rules in the order in which they get the blame; those of other backends are left out.
    gate:
        The learned gate, or ``None`` for rules alone.
    epsilon:
        Share of what the gate and the soft rules prune that is measured all the same.  Candidates
        beyond a hard limit would only fail: they are no probes but for the few that put the limit
        to the test (:mod:`pruner.limits`); with 0 none is.
    graph_prior:
        A model that has seen other tasks, asked in the gate's place until that is ready.
    seed:
        Decides, with the candidate's hash, which ones are probes: not the order, not the batch.
    whitelist:
        Hashes of candidates that are proven correct: whatever objects to them, they are kept.
    engine:
        Answers for rules and features in numpy's stead; the same answers, sooner.  Without one,
        a single candidate's rules run over Python's own numbers.

    ``specs`` are the printed rules; those that follow the best latency change as a run goes on.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        gate: Gate | None,
        chip: Chip,
        *,
        seed: int = 0,
        epsilon: float = 0.02,
        rule_set: str = "custom",
        whitelist: Collection[str] = (),
        graph_prior: GraphPrior | None = None,
        engine: Engine | None = None,
    ) -> None:
        if not 0 <= epsilon <= 1:
            raise ValueError(f"epsilon {epsilon}: expected a share between 0 and 1")
        self.chip, self.gate, self.graph_prior, self.rule_set = chip, gate, graph_prior, rule_set
        self._engine, self._single = engine, single_stage(chip)
        self._use(tuple(r for r in rules if chip.backend in r.backends))
        self.disabled: Disabled = {}
        self.limits = Limits(chip)
        self._seed, self._epsilon, self._whitelist = seed, epsilon, frozenset(whitelist)
        self._promises: dict[str, float] = {}  # gate probabilities of what was let through
        self._scores: dict[str, float] = {}  # the prior's, of what was let through
        self._dissent = Dissent()
        self._best_us, self._slowest_us = float("inf"), float("-inf")
        self._failed = False  # something was measured, and nothing has worked

    def judge(
        self,
        table: KernelTable,
        hashes: Sequence[str],
        *,
        rescue: bool = True,
        scores: NDArray[np.float64] | None = None,
    ) -> Judgement:
        """Keep or prune every candidate of ``table``; ``hashes`` has one entry a candidate, and so
        have the ``scores`` of the prior's model, where :attr:`graph_prior_asked`.

        With ``rescue`` the batch is one of a run.  Hard limits are put to the test.  A batch of
        which nothing is left gets its safest candidate back, and ``Judgement.note`` says which rule
        left nothing.  So does a batch, for one that no hard limit prunes, while all that was
        measured has failed: what is correct may be pruned.
        """
        n = table.n_candidates
        if len(hashes) != n:
            raise ValueError(f"{len(hashes)} hashes for {n} candidates")
        found = self._objections(table)
        code = found.code()
        opinion = self._ask_gate(found, code, hashes, scores)
        kept, hard = code == KEPT, self._hard[code]
        listed = self._listed(hashes, ~kept)
        probe = self._probes(hashes, ~(kept | hard | listed))
        if rescue and np.count_nonzero(hard):
            probe[self._tests(found, hashes)] = True
        keep, note, gate = kept | probe | listed, None, self._gate_name
        if rescue and n and (self._failed or not np.count_nonzero(keep)):
            note = spare(found, code, keep, hard, opinion.probability, gate)
        self._promise(hashes, keep, opinion.probability, scores)
        return Judgement(
            keep=keep,
            code=code,
            opinion=opinion,
            probe=probe,
            listed=listed,
            hashes=tuple(hashes),
            rules=self.specs,
            gate=gate,
            threshold=self._threshold,
            chip=self.chip,
            rule_set=self.rule_set,
            find=lambda: found.outcomes,
            disabled=dict(self.disabled),
            hard=hard,
            slowest_us=self.penalty_us,
            note=note,
        )

    def draft(self, table: KernelTable) -> NDArray[np.float64]:
        """Log microseconds to order candidates by while nothing is learnt, ``(n_candidates,)``:
        ``inf`` beyond a hard limit.
        """
        hopeless = self._hard[self._objections(table).code()]
        return np.where(hopeless, np.inf, np.log(draft_us(table, self.chip)))

    def observe(self, table: KernelTable, hashes: Sequence[str], latency_us: ArrayLike) -> None:
        """Learn from measurements: one latency a candidate, ``inf`` for a failure."""
        if not table.n:
            return
        latency = np.asarray(latency_us, dtype=np.float64)
        self._best_us = min(self._best_us, float(latency.min()))
        self._failed = bool(np.isinf(self._best_us))
        self._slowest_us = max(self._slowest_us, *latency[np.isfinite(latency)].tolist(), -np.inf)
        rules = tuple(follow(rule, self._best_us) for rule in self.rules)
        rules = self.limits.observe(rules, table, hashes, latency, self.disabled)
        if rules != self.rules:
            self._use(rules)
        if self.gate is not None:
            promised = np.array([self._promises.get(h, np.nan) for h in hashes])
            self.gate.observe(features(table, self.chip), latency, promised)
        self._dissent.observe(hashes, draft_us(table, self.chip), latency)
        if self.graph_prior is not None:
            scores = np.array([self._scores.get(h, np.nan) for h in hashes])
            self.graph_prior.observe(scores, latency)
        self._scores.clear()
        self._promises.clear()  # the gate has changed: what it said before is history

    def _use(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self.specs = tuple(print_rule(rule) for rule in rules)
        # by a candidate's code: KEPT and GATE are the last two, which no limit objects to
        self._hard = np.array([*(rule.hard for rule in rules), False, False], bool)

    @property
    def penalty_us(self) -> float:
        """The slowest latency measured: what a strategy should assume for what was skipped."""
        return self._slowest_us if np.isfinite(self._slowest_us) else float("inf")

    @property
    def graph_prior_asked(self) -> bool:
        """Whether the prior speaks, for want of a gate that is ready."""
        return self.graph_prior is not None and (self.gate is None or not self.gate.ready)

    @property
    def _gate_name(self) -> str:
        if self.graph_prior_asked:
            return str(self.graph_prior)
        return "" if self.gate is None else str(self.gate)

    @property
    def _threshold(self) -> float:
        if self.graph_prior is not None and self.graph_prior_asked:
            return self.graph_prior.threshold
        return self.gate.threshold_now if self.gate else 1.0

    def _objections(self, table: KernelTable) -> Objections:
        gate = self.gate if self.gate is not None and self.gate.ready else None
        engine = self._engine
        if engine is None and table.n == 1 and not self.disabled:  # what broke stays disabled
            engine = self._single
        return objections(self.rules, self.specs, table, self.chip, self.disabled, engine, gate)

    def _ask_gate(
        self,
        found: Objections,
        code: NDArray[np.int64],
        hashes: Sequence[str],
        scores: NDArray[np.float64] | None,
    ) -> Opinion:
        """The opinion of gate or prior on those that the rules kept; ``code`` is updated for it."""
        alive = (code == KEPT).nonzero()[0]
        said = self._said(found, alive, hashes, scores) if len(alive) else None
        if said is None:
            return not_asked(len(code))
        code[alive[said.prune]] = GATE
        return said.among(alive, len(code))

    def _said(
        self,
        found: Objections,
        alive: NDArray[np.int64],
        hashes: Sequence[str],
        scores: NDArray[np.float64] | None,
    ) -> Opinion | None:
        if self.gate is not None and self.gate.ready:
            said = found.opinion(self.gate, self.chip, alive)
            return self._heard(found, alive, hashes, said) if self.gate.cautious else said
        if self.graph_prior is not None and scores is not None:
            return self.graph_prior.opine(scores[alive])
        return None

    def _heard(
        self, found: Objections, alive: NDArray[np.int64], hashes: Sequence[str], said: Opinion
    ) -> Opinion:
        """The gate's opinion, but for what it prunes against an objection of the draft."""
        pruned = alive[said.prune]
        if not len(pruned):
            return said
        draft = self._drafted(found, pruned)
        heard = self._dissent.heard([hashes[i] for i in pruned.tolist()], draft)
        if not np.count_nonzero(heard):
            return said
        prune = said.prune.copy()
        prune[prune] = ~heard
        return replace(said, prune=prune)

    def _drafted(self, found: Objections, some: NDArray[np.int64]) -> NDArray[np.float64]:
        """The draft of candidates to which no rule objects."""
        table, reading = found.table, found.reading
        if table.n == 1 and self._engine is not None:  # which has no draft
            reading = self._single.read(self.rules, self.gate, table)
        us = reading.draft_us() if reading is not None else None
        if us is not None:
            return np.array((us,))
        return draft_us(table.take_candidates(some), self.chip)

    def _promise(
        self,
        hashes: Sequence[str],
        keep: BoolColumn,
        probability: NDArray[np.float64],
        scores: NDArray[np.float64] | None,
    ) -> None:
        """Remember what gate or prior said of what is let through: it will be measured."""
        if self.graph_prior_asked:
            said, memory = scores, self._scores
        else:
            said, memory = probability, self._promises
        if said is not None:
            for i in (keep & (said == said)).nonzero()[0].tolist():  # nan: not asked
                memory[hashes[i]] = float(said[i])

    def _listed(self, hashes: Sequence[str], pruned: BoolColumn) -> BoolColumn:
        """``(n,)``: which of those that are pruned are on the whitelist."""
        if not self._whitelist:
            return np.zeros(len(hashes), bool)
        return pruned & [h in self._whitelist for h in hashes]

    def _probes(self, hashes: Sequence[str], eligible: BoolColumn) -> BoolColumn:
        """``(n,)``: which of those that may be probed are."""
        probe: BoolColumn = np.zeros(len(eligible), bool)
        pruned = eligible.nonzero()[0]
        if len(pruned) and self._epsilon:
            drawn = self._draw([hashes[i] for i in pruned.tolist()])
            probe[pruned] = drawn < self._epsilon
        return probe

    def _tests(self, found: Objections, hashes: Sequence[str]) -> list[int]:
        """Those that put a hard limit to the test, once there are measurements to beat."""
        early = self.gate is not None and not self.gate.ready
        if early or not self._epsilon or not self._dissent.close_us:
            return []
        return self.limits.to_test(found, hashes, self._dissent.close_us)

    def _draw(self, candidates: Sequence[str]) -> NDArray[np.float64]:
        """A number in [0, 1) for each."""
        prefix, hashed = f"{self._seed}:", partial(hashlib.blake2b, digest_size=8)
        digests = b"".join([hashed((prefix + c).encode()).digest() for c in candidates])
        return np.frombuffer(digests, "<u8") / 2.0**64


def follow(rule: Rule, best_us: float) -> Rule:
    """The rule brought up to date, if it depends on the best latency so far."""
    follow: Callable[[float], Rule] | None = getattr(rule, "with_best", None)
    return follow(best_us) if follow is not None and np.isfinite(best_us) else rule
