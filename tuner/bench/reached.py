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
    """When a run was there, or all that it did where it never was; as ``History.reaches``.

    ``found`` is the first trial whose truth is within 1 %, ``inf``: none is.  Noise may let it look
    worse than another, so that the incumbent is there later, or never.
    """

    trials: int
    virtual_s: float
    there: bool
    found: float = math.inf


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
        trials, _, there, found = self.reached
        if trial.measurement is not None:
            trials += 1
            near = self._truth_us(trial) <= self._oracle.optimum_us * (1 + CONVERGED)
            found = min(found, trials) if near else found
            if trial.measurement.mean_us < self._best_us:
                self._best_us = trial.measurement.mean_us
                there = near
        self.reached = Reached(trials, trial.virtual_s, there, found)

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
