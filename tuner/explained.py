"""Why was this pruned?  The chain of one candidate, or of one decision's value, derived anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from hwsim.columns import SIMULATED
from pruner.rule import Rule
from pruner.rules.tvm_verifier import LIMITS, TvmVerifier
from pruner.rulesets import Rules, rule_set
from pruner.task import Decision
from pruner.task_result import TaskResult
from pruner.trial import TrialStage
from pruner.verdict import KEPT, Explanation, Verdict, kept
from traces import Header, LogError, Measurement, Trial
from tuner.arms import ARMS
from tuner.bench.plan import Plan
from tuner.feedback import stored
from tuner.logged import ChangedError, Logged, LoggedRun, check_rule_files, logged, logged_run
from tuner.runs import rules_hash, task_stage
from tuner.truth import truth
from tuner.written import value_name


@dataclass(frozen=True)
class Explained:
    """A candidate's chain, its decisions by name, and what it would have done on the chip.

    A decision's value is written as :func:`explain_value` takes it.
    """

    trial: Trial
    explanation: Explanation
    decisions: dict[str, str]
    latency_us: float | None  # simulated without noise, inf for a failure; None on a real chip


def explain(log: Path, wanted: str, chip_file: str | None = None) -> Explained:
    """Explain the candidate whose hash begins with ``wanted``, or trial number ``wanted``.

    The rules are asked again about the candidate, in order, as they stood in its round.  What a
    gate said is taken from the log: it depends on what the run had measured by then.

    Raises
    ------
    LogError
        No such log or candidate, several candidates, or a chip, program or rule set that has
        changed since.
    """
    found = logged(log, wanted, chip_file)
    rules = rules_of(log, found.run.header, found.run.plan)
    return Explained(
        trial=found.trial,
        explanation=_with_log(_chain(found, rules), found.trial),
        decisions=found.named,
        latency_us=_simulated_us(found),
    )


def _simulated_us(found: Logged) -> float | None:
    if found.problem.chip.backend not in SIMULATED:
        return None
    return float(truth(found.problem, found.pool).latency_us[0])


def explain_value(
    log: Path, sketch: int, decision: str, value: str, chip_file: str | None = None
) -> Explanation:
    """The task stage's chain for one value (``4x1x8``) of a sketch's decision.

    Raises
    ------
    LogError
        As :func:`explain`; or the run had no task stage, or there is no such sketch, decision or
        value.
    """
    run = logged_run(log, chip_file)
    rules = rules_of(log, run.header, run.plan)
    index = _value(log, _decision(log, run, sketch, decision), value)
    return _task_stage(run, rules)[sketch].explain(decision, index)


def check_decision(log: Path, sketch: int, decision: str, chip_file: str | None = None) -> None:
    """``LogError`` as :func:`explain_value`: no task stage, no such sketch or decision."""
    _decision(log, logged_run(log, chip_file), sketch, decision)


def explain_run(run: LoggedRun, rules: Rules) -> Iterator[tuple[int | None, Explanation]]:
    """The chains of a whole run: of the values that the task stage removed (with None), then of
    every trial (with its number), as :func:`explain_value` and :func:`explain` give them.
    """
    if ARMS[run.header.arm].task:
        for result in _task_stage(run, rules):
            for name, code in result.code.items():
                yield from ((None, result.explain(name, int(v))) for v in np.flatnonzero(code >= 0))
    for trial in run.trials:
        found = Logged(run, trial)
        yield trial.index, _with_log(_chain(found, rules), trial)


def _task_stage(run: LoggedRun, rules: Rules) -> list[TaskResult]:
    folder = run.plan.store if run.plan else ""
    listed, _ = stored(run.problem, folder, run.header.store)
    return task_stage(run.problem, rules, listed)


def rules_of(log: Path, header: Header, plan: Plan | None) -> Rules:
    """The rules of a logged run; ``ChangedError`` where they are others today."""
    check_rule_files(log, plan)
    rules = rule_set(header.rule_set.split("@")[0], plan.rule_files if plan else ())
    if rules_hash(rules) != header.rules_hash:
        raise ChangedError(
            f"{log}: the rules of {header.rule_set} have changed since, these are {rules.name}"
        )
    return rules


def _decision(log: Path, run: LoggedRun, sketch: int, wanted: str) -> Decision:
    if not ARMS[run.header.arm].task:
        raise LogError(f"{log}: arm {run.header.arm} has no task stage")
    tasks = run.problem.tasks
    if sketch >= len(tasks):
        raise LogError(f"{log}: no sketch {sketch}, expected one below {len(tasks)}")
    for decision in tasks[sketch].decisions:
        if decision.name == wanted:
            return decision
    names = _some([d.name for d in tasks[sketch].decisions])
    raise LogError(
        f"{log}: sketch {sketch} has no such decision {wanted!r}, expected one of {names}"
    )


def _value(log: Path, decision: Decision, wanted: str) -> int:
    names = [value_name(value) for value in decision.values]
    if wanted not in names:
        raise LogError(
            f"{log}: {decision.name} has no value {wanted!r}, expected one of {_some(names)}"
        )
    return names.index(wanted)


def _some(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _chain(found: Logged, rules: Rules) -> Explanation:
    """What every rule says about the candidate."""
    (stage, notes), chip = _stage(found.run, found.trial, rules), found.problem.chip
    table, readable = found.problem.read(found.pool)
    if readable.all():
        chain = stage.judge(table, [found.trial.candidate], rescue=False).explain(0)
        return msgspec.structs.replace(chain, notes=notes)
    return Explanation(
        subject=found.trial.candidate,
        chip=chip.name,
        chip_version=chip.version,
        rule_set=rules.name,
        verdict=kept("trial", "cannot be read, so that no rule can object"),
        chain=[],
    )


def _stage(run: LoggedRun, trial: Trial, rules: Rules) -> tuple[TrialStage, list[str]]:
    """The rules as they stood when the trial was judged: some follow the best latency so far, and
    what ran although one objected.  With notes on both.
    """
    used: tuple[Rule, ...] = rules.trial if ARMS[run.header.arm].rules else ()
    if _rejected_by_tvm(trial) and not used:  # TVM says only no; the same limits say why
        used = tuple(TvmVerifier(limit) for limit in LIMITS)
    stage = TrialStage(used, None, run.problem.chip, rule_set=rules.name)
    before = [(t, m) for t in run.trials if t.round < trial.round and (m := t.measurement)]
    best = min(before, key=lambda said: said[1].mean_us, default=None)
    against = [(t, m) for t, m in before if t.verdict is not None and t.verdict["rule"] != KEPT]
    told = {t.index: (t, m) for t, m in (best, *against)} if best else {}
    raised: list[str] = []
    for index in sorted(told):
        t, m = told[index]
        table, _ = run.problem.read(run.pool(t))
        known = len(stage.limits.raised)
        stage.observe(table, [t.candidate], [m.mean_us])
        raised += [f"{text} (by trial {index})" for text in stage.limits.raised[known:]]
    return stage, _unknown(stage, best[1] if best else None) + raised


def _unknown(stage: TrialStage, best: Measurement | None) -> list[str]:
    """A note on the rules that follow the best latency, where there is none yet."""
    if best is not None and best.failure is None:
        return []
    specs = zip(stage.rules, stage.specs, strict=True)
    follow = [spec for rule, spec in specs if hasattr(rule, "with_best")]
    return [f"{spec}: no limit yet, no latency was measured before this round" for spec in follow]


def _rejected_by_tvm(trial: Trial) -> bool:
    return trial.verdict is not None and trial.verdict["stage"] == "verifier"


def _with_log(chain: Explanation, trial: Trial) -> Explanation:
    """The chain with what only the log knows: the gate's word, TVM's verifier, probes."""
    if trial.verdict is None:
        return chain
    said = msgspec.convert(trial.verdict, Verdict)
    known = {v.rule for v in chain.chain}
    extra = [] if said.rule in known or said.rule == "none" else [said]
    return msgspec.structs.replace(chain, verdict=said, chain=[*chain.chain, *extra])
