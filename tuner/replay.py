"""A run from its log: how it went, and whether the same run comes out again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from pathlib import Path

from traces import End, Header, LogError, Record, TaskPrune, Trial, read
from traces.verify import LogMismatch, LogVerifier
from tuner.logged import ChangedError, LoggedRun, check_rule_files, logged_run
from tuner.loop import BUDGET, Loop
from tuner.measure import SimBackend
from tuner.runs import RunSpec, checked_rules, header, search


@dataclass(frozen=True)
class Step:
    """The best so far got better: after how many measurements, when on the virtual clock."""

    measured: int
    virtual_s: float
    best_us: float
    candidate: str


@dataclass(frozen=True)
class Replayed:
    """A log read from its beginning: the steps of the incumbent and what was skipped.

    ``skipped`` counts candidates by stage and rule, and values that the task stage removed;
    ``damaged`` names the first trial that is missing or stands there twice.
    """

    header: Header
    steps: list[Step]
    offered: int
    measured: int
    failed: int
    virtual_s: float
    skipped: dict[str, int]
    ended: str | None
    damaged: str | None


@dataclass(frozen=True)
class Verified:
    """What was made again: ``difference`` is the first, None where there is none."""

    lines: int
    trials: int
    measured: int
    difference: str | None


def replay(log: Path) -> Replayed:
    """Replay a log, finished or not; ``LogError`` as :func:`traces.read`."""
    records = list(read(log))
    trials = [r for r in records if isinstance(r, Trial)]
    measured = [t for t in trials if t.measurement is not None]
    first, last = records[0], records[-1]
    assert isinstance(first, Header)
    return Replayed(
        header=first,
        steps=_steps(measured),
        offered=len(trials),
        measured=len(measured),
        failed=sum(t.measurement.failure is not None for t in measured if t.measurement),
        virtual_s=last.virtual_s if isinstance(last, End | Trial) else 0.0,
        skipped=_skipped(records),
        ended=last.reason if isinstance(last, End) else None,
        damaged=_damage(trials),
    )


def _damage(trials: list[Trial]) -> str | None:
    for expected, trial in enumerate(trials):
        if trial.index != expected:
            return f"trial {trial.index} stands where {expected} was expected"
    return None


def _steps(measured: list[Trial]) -> list[Step]:
    out: list[Step] = []
    for i, trial in enumerate(measured, start=1):
        assert trial.measurement is not None
        us = trial.measurement.mean_us
        if us < (out[-1].best_us if out else float("inf")):
            out.append(Step(i, trial.virtual_s, us, trial.candidate))
    return out


def _skipped(records: list[Record]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for r in records:
        if isinstance(r, TaskPrune):
            counts[f"task {r.verdict['rule']}"] += len(r.values)
        elif isinstance(r, Trial) and r.measurement is None and r.verdict is not None:
            counts[f"{r.verdict['stage']} {r.verdict['rule']}"] += 1
    return dict(counts.most_common())


def verify(log: Path, chip_file: str | None = None) -> Verified:
    """Make a log's run again and compare every line of it.

    Raises
    ------
    LogError
        No such log, a chip or workload that cannot be found, or a run on real hardware, whose
        measurements do not come out twice.
    """
    held = LogVerifier(log)
    replayed = replay(log)
    if replayed.header.backend != SimBackend.name:
        raise LogError(
            f"{log}: was measured by {replayed.header.backend}, expected the simulator: real"
            " measurements cannot be made again"
        )
    return Verified(
        held.lines, replayed.offered, replayed.measured, _difference(log, held, replayed, chip_file)
    )


def _difference(
    log: Path, held: LogVerifier, replayed: Replayed, chip_file: str | None
) -> str | None:
    try:
        run = logged_run(log, chip_file)
        check_rule_files(log, run.plan)
        _again(run, held, replayed)
    except (LogMismatch, ChangedError) as error:
        return str(error)
    return None


def _again(run: LoggedRun, held: LogVerifier, replayed: Replayed) -> None:
    spec = spec_of(run)
    rules = checked_rules(spec)
    held.write(header(run.problem, spec, rules))
    again = search(run.problem, spec, rules, held, stopped=lambda: held.exhausted)
    if spec.network and isinstance(again, Loop):
        _as_in_network(again, held, replayed)
    if again.run().reason:
        held.finish()


def _as_in_network(loop: Loop, held: LogVerifier, replayed: Replayed) -> None:
    """The rounds of a network's task: how many it got depended on the other tasks, and so did the
    size of the last one where that spent the budget.
    """
    if replayed.ended == BUDGET:
        loop.budget = replace(loop.budget, trials=replayed.measured)
    loop.stopped = lambda: held.exhausted or held.before_end
    loop.run()
    if held.before_end and replayed.ended:
        loop.end(replayed.ended)


def spec_of(run: LoggedRun) -> RunSpec:
    """The run's description from its header and its folder's plan."""
    named = {f.name for f in fields(RunSpec)} & set(Header.__struct_fields__)
    return RunSpec(
        **{name: getattr(run.header, name) for name in named},
        rules=run.header.rule_set.split("@")[0],
        rule_files=run.plan.rule_files if run.plan else (),
        store_folder=run.plan.store if run.plan else "",
        meta=run.plan.meta if run.plan else "",
    )
