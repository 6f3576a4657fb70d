"""Why was this candidate pruned?  The chain of one candidate of a log, derived anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from pruner.rulesets import rule_set
from pruner.trial import TrialStage
from pruner.verdict import Explanation, Verdict
from traces import Trial
from tuner.arms import ARMS
from tuner.bench.reference import truth
from tuner.logged import logged


@dataclass(frozen=True)
class Explained:
    """A candidate's chain, its decisions by name, and what it would have done on the chip."""

    trial: Trial
    explanation: Explanation
    decisions: dict[str, int]
    latency_us: float  # simulated without noise, inf for a failure


def explain(log: Path, wanted: str, chip_file: str | None = None) -> Explained:
    """Explain the candidate whose hash begins with ``wanted``, or trial number ``wanted``.

    The rules are asked again about the candidate, in order.  What a gate said is taken from the
    log: it depends on what the run had measured by then.

    Raises
    ------
    LogError
        No such log or candidate, several candidates, or a chip or program that has changed since.
    """
    found = logged(log, wanted, chip_file)
    trial, problem = found.trial, found.problem
    rules = rule_set(found.header.rule_set.split("@")[0], found.plan.get("rule_files", []))
    used = rules.trial if ARMS[found.header.arm].rules else ()
    stage = TrialStage(used, None, problem.chip, rule_set=found.header.rule_set)
    judged = stage.judge(problem.kernels(found.pool), [trial.candidate], rescue=False)
    return Explained(
        trial=trial,
        explanation=_with_log(judged.explain(0), trial),
        decisions=found.decisions,
        latency_us=float(truth(problem, found.pool).latency_us[0]),
    )


def _with_log(chain: Explanation, trial: Trial) -> Explanation:
    """The chain with what only the log knows: the gate's word, TVM's verifier, probes."""
    if trial.verdict is None:
        return chain
    logged = msgspec.convert(trial.verdict, Verdict)
    known = {v.rule for v in chain.chain}
    extra = [] if logged.rule in known or logged.rule == "none" else [logged]
    return msgspec.structs.replace(chain, verdict=logged, chain=[*chain.chain, *extra])
