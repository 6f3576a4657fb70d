"""What a rule does to one space: its mask over the reference, its cost, its worst mistakes."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from pruner.host import Described, RuleHost
from pruner.verdict import Verdict
from tuner.bench import metrics
from tuner.bench.sampled import survive_task
from tuner.decisions import IntColumn
from tuner.rulecheck.case import Case
from tuner.truth import BoolColumn
from tuner.written import value_name, written

WORST = 3  # mistakes that are shown


@dataclass(frozen=True)
class Worst:
    """A candidate that should not have gone: ``beyond`` is its latency / the optimum - 1.

    ``decisions`` is what ``prunelab simulate --decisions`` takes; ``why`` is the rule's verdict.
    """

    candidate: str
    latency_us: float
    beyond: float
    decisions: str
    why: Verdict


@dataclass(frozen=True)
class Findings:
    """One rule on one space.

    ``keep`` ``(n,)`` over the reference; ``measures`` are defined in ``docs/metrics.md``;
    ``cost`` is wall time in microseconds.
    """

    keep: BoolColumn
    measures: Mapping[str, float | None]
    cost: Mapping[str, float]
    remarks: tuple[str, ...]
    worst: tuple[Worst, ...]


def hold(host: RuleHost, rule: Described, case: Case) -> Findings:
    """Ask the rule about every candidate, or every value, of a case.

    Raises
    ------
    pruner.host.HostError
        The rule raised, hung, or gave no well-formed answer.
    """
    host.conform(rule.spec, case.chip)
    held = (_OfTask if rule.stage == "task" else _OfTrial)(host, rule, case)
    return Findings(
        keep=held.keep,
        measures={**_measures(case, held.keep, rule.hard), **held.nodes()},
        cost=held.cost(),
        remarks=held.remarks,
        worst=tuple(held.worst(int(i)) for i in _worst(case, held.keep, rule.hard)),
    )


def _measures(case: Case, keep: BoolColumn, hard: bool) -> dict[str, float | None]:
    latency, optimum_us = case.latency_us, case.optimum_us
    gone, n = ~keep, max(1, case.n)
    near = case.near
    space = metrics.space(keep, latency, optimum_us)
    works = np.isfinite(latency)
    return {
        "candidates": float(case.n),
        "near_optimum": float(near.sum()),
        "pruning_rate": float(gone.sum() / n),
        "pruning_rate_above_base": float((gone & case.kept_by_base).sum() / n),
        "pruning_rate_above_verifier": float((gone & case.passes_verifier).sum() / n),
        "false_prune_rate": space["space_false_prune_rate"],
        "false_prunes": float((gone & near).sum()),
        "optimum_pruned": float((gone & works & (latency <= optimum_us)).any()),
        "space_regret": metrics.as_json(space["space_regret"]),
        "optimum_us": metrics.as_json(optimum_us),
        "wrong_limits": float((gone & works).sum()) if hard else 0.0,
    }


def _worst(case: Case, keep: BoolColumn, hard: bool) -> IntColumn:
    """The fastest of what should not have gone: near the optimum, or running despite a limit."""
    latency = case.latency_us
    wrong = ~keep & (np.isfinite(latency) if hard else case.near)
    found = np.flatnonzero(wrong)
    return np.asarray(found[np.argsort(latency[found], kind="stable")][:WORST])


class _Held:
    """A rule's answers about a case."""

    keep: BoolColumn
    remarks: tuple[str, ...] = ()

    def __init__(self, host: RuleHost, rule: Described, case: Case) -> None:
        self.host, self.rule, self.case = host, rule, case
        self.seconds: list[float] = []
        self.keep = self._ask()

    def _ask(self) -> BoolColumn:
        raise NotImplementedError

    def _why(self, index: int) -> Verdict:
        raise NotImplementedError

    def cost(self) -> dict[str, float]:
        raise NotImplementedError

    def nodes(self) -> dict[str, float]:
        return {}

    def worst(self, index: int) -> Worst:
        sketch, row = self.case.pool.locate(index)
        of = self.case.problem.sketches[sketch]
        latency_us = float(self.case.latency_us[index])
        return Worst(
            of.hash(row),
            latency_us,
            latency_us / self.case.optimum_us - 1,
            written(of, row),
            self._why(index),
        )


class _OfTrial(_Held):
    """A trial rule, asked about the kernel tables in chunks."""

    @property
    def _best_us(self) -> float:
        """A rule that follows the best latency prunes most once the optimum is known."""
        return self.case.optimum_us

    def _ask(self) -> BoolColumn:
        keep = np.ones(self.case.n, dtype=bool)
        for part, table in self.case.chunks():
            said = self.host.check(self.rule.spec, table, self.case.chip, self._best_us)
            keep[part] = said.keep
            self.seconds.append(said.seconds / len(part))
        return keep

    def cost(self) -> dict[str, float]:
        if not self.seconds:
            return {}
        _, table = next(self.case.chunks())
        one = table.take_candidates([0])
        single = self.host.seconds_single(self.rule.spec, one, self.case.chip, self._best_us)
        return {
            "us_single": round(single * 1e6, 1),
            "us_batch": round(statistics.median(self.seconds) * 1e6, 3),
        }

    def _why(self, index: int) -> Verdict:
        """Asked in the same company: a rule may go by the batch."""
        at, table = self.case.chunk_of(index)
        spec, chip = self.rule.spec, self.case.chip
        return self.host.verdicts(spec, table, chip, self._best_us, [at])[0]


class _OfTask(_Held):
    """A task rule, asked about the values of every decision of every sketch."""

    def _ask(self) -> BoolColumn:
        spec, chip = self.rule.spec, self.case.chip
        self.said = said = [self.host.reduce(spec, task, chip) for task in self.case.problem.tasks]
        self.seconds = [s.seconds for s in said]
        self.remarks = tuple(dict.fromkeys(text for s in said for text in s.remarks))
        return survive_task(self.case.problem, self.case.pool, said)

    def cost(self) -> dict[str, float]:
        return {"task_us": round(statistics.mean(self.seconds) * 1e6, 1)}

    def nodes(self) -> dict[str, float]:
        return metrics.nodes(self.case.validity, [s.allowed for s in self.said])

    def _why(self, index: int) -> Verdict:
        sketch, row = self.case.pool.locate(index)
        task = self.case.problem.tasks[sketch]
        for d in self.case.problem.sketches[sketch].decisions:
            allowed = self.said[sketch].allowed.get(d.name)
            if allowed is None:
                continue
            values = next(x.values for x in task.decisions if x.name == d.name)
            place = int(np.flatnonzero((d.options() == row[d.start : d.stop]).all(axis=1))[0])
            if not allowed[place]:
                return self._value(sketch, d.name, place, value_name(values[place]))
        raise AssertionError("a candidate that no value of it was removed for")

    def _value(self, sketch: int, decision: str, place: int, value: str) -> Verdict:
        task = self.case.problem.tasks[sketch]
        said = self.host.value_verdict(self.rule.spec, task, self.case.chip, decision, place)
        where = f"{sketch}:{decision}={value}"
        return msgspec.structs.replace(said, reason=f"{where} {said.reason}")
