"""Runs that end as soon as they are within 1 % of the optimum of a space that is known whole."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from hwsim.chip import Chip
from traces import Header, LogWriter, Record, Trial
from tuner.bench.metrics import CONVERGED
from tuner.oracle import Oracle
from tuner.runs import RunSpec, Shared, checked_rules, header, search


class Reached(NamedTuple):
    """When a run was there, or all that it did where it never was; as ``History.reaches``.

    ``found`` is the first trial whose truth is within 1 %, ``inf``: none is.  Noise may let it look
    worse than another, so that the incumbent is there later, or never.  ``regret`` is the truth of
    the last incumbent over the optimum - 1.
    """

    trials: int
    virtual_s: float
    there: bool
    found: float = math.inf
    regret: float = math.inf


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
        trials, _, there, found, regret = self.reached
        if trial.measurement is not None:
            trials += 1
            own = self._truth_us(trial) / self._oracle.optimum_us - 1
            found = min(found, trials) if own <= CONVERGED else found
            if trial.measurement.mean_us < self._best_us:
                self._best_us = trial.measurement.mean_us
                there, regret = own <= CONVERGED, own
        self.reached = Reached(trials, trial.virtual_s, there, found, regret)

    def _truth_us(self, trial: Trial) -> float:
        numbering = self._oracle.numbering
        rank = numbering.spaces[trial.sketch].rank(np.array([trial.decisions]))[0]
        return float(self._oracle.latency_us[numbering.edges[trial.sketch] + rank])


def reach(oracle: Oracle, spec: RunSpec, shared: Shared, believed: Chip | None = None) -> Reached:
    """Run until the truth of the incumbent is within 1 % of the optimum, or the run is over.

    ``believed``: what pruner and cost model take the chip for.
    """
    rules, board = checked_rules(spec), oracle.problem.chip
    problem = replace(oracle.problem, chip=believed or board)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        log = Watched(path, header(problem, spec, rules), oracle)
        stopped = lambda: log.reached.there  # noqa: E731 - reads what the log has come to
        with log:
            search(problem, spec, rules, log, shared, stopped=stopped, board=board).run()
        return log.reached
