"""Why was this candidate pruned?  The chain of one candidate of a log, derived anew."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hwsim.chip import Chip
from hwsim.chips import chip_hash, load_chip
from pruner.rulesets import rule_set
from pruner.trial import TrialStage
from pruner.verdict import Explanation, Verdict
from traces import Header, LogError, Trial, read
from tuner.arms import ARMS
from tuner.bench.reference import truth
from tuner.problem import Problem
from tuner.search import Pool
from tuner.workloads import resolve


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
    header, trial = _find(log, wanted)
    plan = _plan(log)
    problem = Problem.of(resolve(_workload(plan, header)), _chip(plan, header, log, chip_file))
    pool = _pool(problem, trial)
    files = plan.get("rule_files", [])
    rules = rule_set(header.rule_set.split("@")[0], files)
    used = rules.trial if ARMS[header.arm].rules else ()
    stage = TrialStage(used, None, problem.chip, rule_set=header.rule_set)
    judged = stage.judge(problem.kernels(pool), [trial.candidate], rescue=False)
    return Explained(
        trial=trial,
        explanation=_with_log(judged.explain(0), trial),
        decisions=dict(zip(problem.sketches[trial.sketch].names, trial.decisions, strict=True)),
        latency_us=float(truth(problem, pool).latency_us[0]),
    )


def _find(log: Path, wanted: str) -> tuple[Header, Trial]:
    records = read(log)
    header = next(records)
    assert isinstance(header, Header)
    trials = [r for r in records if isinstance(r, Trial)]
    if wanted.isdigit() and int(wanted) < len(trials):
        return header, trials[int(wanted)]
    found = [t for t in trials if t.candidate.startswith(wanted)]
    if len(found) != 1:
        what = "no candidate" if not found else f"{len(found)} candidates"
        raise LogError(
            f"{log}: {what} begin with {wanted!r}; expected a hash or a trial number below"
            f" {len(trials)}"
        )
    return header, found[0]


def _plan(log: Path) -> dict[str, Any]:
    """The plan of the folder that the log lies in; empty where there is none."""
    path = log.resolve().parent.parent / "plan.json"
    try:
        plan = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return plan if isinstance(plan, dict) else {}


def _workload(plan: dict[str, Any], header: Header) -> str:
    """The workload as the user gave it (a ``.py`` file has a path), else its name."""
    for given in plan.get("workloads", []):
        if resolve(given).name == header.workload:
            return str(given)
    return header.workload


def _chip(plan: dict[str, Any], header: Header, log: Path, chip_file: str | None) -> Chip:
    given = [chip_file] if chip_file else plan.get("chips", [header.chip])
    chips = [c for c in map(load_chip, given) if c.name == header.chip]
    if not chips:
        raise LogError(f"{log}: is of chip {header.chip}; give its file with --chip")
    if chip_hash(chips[0]) != header.chip_hash:
        raise LogError(
            f"{log}: chip {header.chip} has changed since: hash {chip_hash(chips[0])}, the log has"
            f" {header.chip_hash}"
        )
    return chips[0]


def _pool(problem: Problem, trial: Trial) -> Pool:
    rows = [np.empty((0, s.width), dtype=np.int64) for s in problem.sketches]
    rows[trial.sketch] = np.array([trial.decisions], dtype=np.int64)
    return Pool(tuple(rows))


def _with_log(chain: Explanation, trial: Trial) -> Explanation:
    """The chain with what only the log knows: the gate's word, TVM's verifier, probes."""
    if trial.verdict is None:
        return chain
    logged = msgspec.convert(trial.verdict, Verdict)
    known = {v.rule for v in chain.chain}
    extra = [] if logged.rule in known or logged.rule == "none" else [logged]
    return msgspec.structs.replace(chain, verdict=logged, chain=[*chain.chain, *extra])
