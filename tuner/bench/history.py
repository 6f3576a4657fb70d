"""A run's log as columns, for the measures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from traces import End, Header, LogError, Note, Record, TaskPrune, TaskSummary, Trial, read

FloatColumn = NDArray[np.float64]
BoolColumn = NDArray[np.bool_]


@dataclass(frozen=True)
class History:
    """The trials of one run in order, columns of shape ``(n,)``.

    ``pruned``: skipped by the trial stage; ``rejected``: by TVM's own verifier; ``mean_us``: mean
    of the measured latencies, ``inf`` for failures, ``nan`` where nothing was measured.
    ``predicted_us``: the cost model's prediction before it learnt the measurement, ``nan``: none.
    ``rules_pruned`` counts what each rule is to blame for, by stage.
    """

    header: Header
    end: End
    candidates: tuple[str, ...]
    sketch: NDArray[np.int64]
    decisions: tuple[tuple[int, ...], ...]
    pruned: BoolColumn
    rejected: BoolColumn
    mean_us: FloatColumn
    predicted_us: FloatColumn
    round: NDArray[np.int64]
    virtual_s: FloatColumn
    rules_pruned: dict[str, Counter[str]]
    nodes_before: int
    nodes_after: int
    notes: tuple[str, ...]

    @property
    def measured(self) -> BoolColumn:
        """Which trials were measured (failures included)."""
        return ~np.isnan(self.mean_us)

    def incumbents(self) -> NDArray[np.int64]:
        """Trial index of the best measured candidate so far, ``(n,)``; -1 while there is none."""
        out = np.full(len(self.mean_us), -1, dtype=np.int64)
        best, best_us = -1, np.inf
        for i, us in enumerate(self.mean_us):
            if us < best_us:
                best, best_us = i, us
            out[i] = best
        return out

    def incumbent_us(self) -> FloatColumn:
        """Measured mean of the best so far after each trial, ``(n,)``; ``inf`` while none works."""
        return np.append(self.mean_us, np.inf)[self.incumbents()]  # -1 takes the appended inf

    def reaches(self, incumbent_us: FloatColumn, target_us: float) -> tuple[float, int, bool]:
        """Virtual seconds and measurements until the incumbent is at or below a target, and whether
        it ever is; the whole run where it is not.
        """
        if not len(self.mean_us):
            return 0.0, 0, False
        hit = np.flatnonzero(incumbent_us <= target_us)
        last = int(hit[0]) if len(hit) else len(self.mean_us) - 1
        measured = int(self.measured[: last + 1].sum())
        return float(self.virtual_s[last]), measured, bool(len(hit))


def load(path: Path) -> History:
    """Read a finished run; ``LogError`` where it is unfinished."""
    records = list(read(path))
    trials = [r for r in records if isinstance(r, Trial)]
    end = records[-1]
    if not isinstance(end, End) or not isinstance(records[0], Header):
        raise LogError(f"{path}: the run is not finished")
    summaries = [r for r in records if isinstance(r, TaskSummary)]
    stages = [_stage(t) for t in trials]
    return History(
        header=records[0],
        end=end,
        candidates=tuple(t.candidate for t in trials),
        sketch=np.array([t.sketch for t in trials], dtype=np.int64),
        decisions=tuple(tuple(t.decisions) for t in trials),
        pruned=np.array([s == "trial" for s in stages], dtype=bool),
        rejected=np.array([s == "verifier" for s in stages], dtype=bool),
        mean_us=np.array([t.measurement.mean_us if t.measurement else np.nan for t in trials]),
        predicted_us=np.array([t.predicted_us for t in trials], dtype=np.float64),
        round=np.array([t.round for t in trials], dtype=np.int64),
        virtual_s=np.array([t.virtual_s for t in trials]),
        rules_pruned=_blame(records),
        nodes_before=sum(s.nodes_before for s in summaries),
        nodes_after=sum(s.nodes_after for s in summaries),
        notes=tuple(r.text for r in records if isinstance(r, Note)),
    )


def _stage(trial: Trial) -> str | None:
    """The stage that skipped a trial, None where it was measured."""
    if trial.measurement is not None or trial.verdict is None:
        return None
    return str(trial.verdict["stage"])


def _blame(records: list[Record]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {"task": Counter(), "trial": Counter(), "verifier": Counter()}
    for record in records:
        if isinstance(record, TaskPrune):
            counts["task"][record.verdict["rule"]] += len(record.values)
        elif isinstance(record, Trial):
            stage = _stage(record)
            if stage is not None:
                counts[stage][record.verdict["rule"]] += 1
    return counts
