"""What a run pruned, rule by rule, from its log alone; each row says how to look closer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from traces import Header, TaskPrune, Trial, read


@dataclass(frozen=True)
class Blame:
    """What one rule pruned of the candidates, or of one decision's values (``where``).

    ``example`` is the first of them as ``prunelab explain LOG`` takes it; ``left`` is what the rows
    down to this one leave of the candidates that were offered, None for values.
    """

    stage: str
    rule: str
    where: str
    pruned: int
    example: str
    left: int | None = None


def overview(log: Path) -> tuple[Header, list[Blame]]:
    """The header of a log, and one row a rule and decision, task stage first.

    Raises
    ------
    LogError
        No such file, or no log of prunelab.
    """
    records = list(read(log))
    assert isinstance(records[0], Header)
    task = [_of_values(r) for r in records if isinstance(r, TaskPrune)]
    skipped = [r for r in records if isinstance(r, Trial) and r.measurement is None and r.verdict]
    offered = sum(isinstance(r, Trial) for r in records)
    return records[0], task + _of_candidates(skipped, offered)


def removed(log: Path, sketch: int, decision: str) -> list[tuple[str, str]]:
    """(value, rule) of every value of a decision that the task stage removed; as :func:`overview`.

    There is none, either, of a decision that does not exist.
    """
    return [
        (value, str(r.verdict["rule"]))
        for r in read(log)
        if isinstance(r, TaskPrune) and (r.sketch, r.decision) == (sketch, decision)
        for value in r.values
    ]


def _of_values(record: TaskPrune) -> Blame:
    where = f"{record.sketch}:{record.decision}"
    rule, count = str(record.verdict["rule"]), len(record.values)
    return Blame("task", rule, where, count, f"{where}={record.values[0]}")


def _of_candidates(skipped: list[Trial], offered: int) -> list[Blame]:
    groups: dict[tuple[str, str], list[str]] = {}
    for trial in skipped:
        key = str(trial.verdict["stage"]), str(trial.verdict["rule"])
        groups.setdefault(key, []).append(trial.candidate)
    ranked = sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1]), item[0][1]))
    rows = []
    for (stage, rule), candidates in ranked:
        offered -= len(candidates)
        rows.append(Blame(stage, rule, "candidates", len(candidates), candidates[0], offered))
    return rows
