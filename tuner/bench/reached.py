"""Runs that end as soon as they are within 1 % of the optimum of a space that is known whole."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from traces import Header, LogWriter, Record, Trial
from tuner.bench.metrics import CONVERGED
from tuner.oracle import Oracle
from tuner.runs import RunSpec, Shared, checked_rules, header, search


class Reached(NamedTuple):
    """When a run was there, or all that it did where it never was; as ``History.reaches``."""

    trials: int
    virtual_s: float
    there: bool


class Watched(LogWriter):
    """A log that holds the truth of every new incumbent against an oracle's optimum."""

    def __init__(self, path: Path, head: Header, oracle: Oracle) -> None:
        super().__init__(path, head)
        self._oracle, self._best_us = oracle, math.inf
        self.reached = Reached(0, 0.0, False)

    def write(self, record: Record) -> None:
        super().write(record)
        if isinstance(record, Trial) and not self.reached.there:
            self._follow(record)

    def _follow(self, trial: Trial) -> None:
        measured, there = trial.measurement, False
        if measured is not None and measured.mean_us < self._best_us:
            self._best_us = measured.mean_us
            there = self._truth_us(trial) <= self._oracle.optimum_us * (1 + CONVERGED)
        trials = self.reached.trials + (measured is not None)
        self.reached = Reached(trials, trial.virtual_s, there)

    def _truth_us(self, trial: Trial) -> float:
        numbering = self._oracle.numbering
        rank = numbering.spaces[trial.sketch].rank(np.array([trial.decisions]))[0]
        return float(self._oracle.latency_us[numbering.edges[trial.sketch] + rank])


def reach(oracle: Oracle, spec: RunSpec, shared: Shared) -> Reached:
    """Run until the truth of the incumbent is within 1 % of the optimum, or the run is over."""
    rules = checked_rules(spec)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        log = Watched(path, header(oracle.problem, spec, rules), oracle)
        with log:
            search(
                oracle.problem, spec, rules, log, shared, stopped=lambda: log.reached.there
            ).run()
        return log.reached
