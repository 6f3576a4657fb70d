"""What every search does alike: trials into the log, counts, the best so far, the virtual clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from hwsim.chip import BenchCost
from hwsim.farm import Farm
from traces import End, LogWriter, Measurement, Note, Trial
from tuner.decisions import IntColumn


class Progress(Protocol):
    """Told after every round, and at the end, how a run stands."""

    def __call__(
        self, measured: int, pruned: int, failed: int, best_us: float, finished: bool
    ) -> None:
        """Counts so far, the best measured mean latency (``inf``: none), whether it is over."""
        ...


@dataclass
class Tally:
    """How a run stands."""

    trials: int = 0
    measured: int = 0
    pruned: int = 0
    failed: int = 0
    virtual_s: float = 0.0
    best_us: float = float("inf")
    best: tuple[str, int, IntColumn] | None = None
    reason: str = ""  # why it ended


@dataclass
class Journal:
    """Writes a run's log and keeps its tally.

    A round is: :meth:`charge` what it measured, :meth:`trial` for each of its candidates,
    :meth:`close_round`.
    """

    log: LogWriter
    bench: BenchCost
    progress: Progress | None = None
    tally: Tally = field(default_factory=Tally)
    round: int = 0
    _noted: set[str] = field(default_factory=set)

    def charge(self, measured: Sequence[Measurement]) -> None:
        """Advance the virtual clock by what a batch takes on the farm."""
        compile_s = np.array([m.compile_s for m in measured])
        run_s = np.array([m.run_s for m in measured])
        self.tally.virtual_s += Farm(self.bench).batch_seconds(compile_s, run_s)

    def trial(
        self,
        candidate: str,
        sketch: int,
        row: IntColumn,
        verdict: Any = None,
        measurement: Measurement | None = None,
        predicted_us: float | None = None,
    ) -> None:
        """Log one candidate: measured, or skipped with a verdict."""
        self._count(candidate, sketch, row, measurement)
        self.log.write(
            Trial(
                index=self.tally.trials,
                round=self.round,
                candidate=candidate,
                sketch=sketch,
                decisions=[int(v) for v in row],
                verdict=verdict,
                measurement=measurement,
                predicted_us=_short(predicted_us),
                virtual_s=round(self.tally.virtual_s, 6),
            )
        )
        self.tally.trials += 1

    def _count(
        self, candidate: str, sketch: int, row: IntColumn, measurement: Measurement | None
    ) -> None:
        tally = self.tally
        if measurement is None:
            tally.pruned += 1
            return
        tally.measured += 1
        tally.failed += measurement.failure is not None
        if measurement.mean_us < tally.best_us:
            tally.best_us = measurement.mean_us
            tally.best = (candidate, sketch, row)

    def close_round(self) -> None:
        """Hand the round to the operating system and tell the progress."""
        self.log.flush()
        self.round += 1
        self._tell(finished=False)

    def _tell(self, finished: bool) -> None:
        if self.progress:
            t = self.tally
            self.progress(t.measured, t.pruned, t.failed, t.best_us, finished)

    def note(self, text: str) -> None:
        """Log something that a user should know, once a run."""
        if text not in self._noted:
            self._noted.add(text)
            self.log.write(Note(round=self.round, text=text))

    def end(self, reason: str) -> None:
        """Log the last line of a finished run."""
        tally = self.tally
        tally.reason = reason
        self.log.write(
            End(
                measured=tally.measured,
                pruned=tally.pruned,
                failed=tally.failed,
                best_us=tally.best_us if tally.best else None,
                best_candidate=tally.best[0] if tally.best else None,
                virtual_s=round(tally.virtual_s, 6),
                reason=reason,
            )
        )
        self.log.flush()
        self._tell(finished=True)


def _short(value: float | None) -> float | None:
    """Six significant digits; JSON has no infinity."""
    return float(f"{value:.6g}") if value is not None and np.isfinite(value) else None


def broken(rule: str, error: str) -> str:
    """The note on a rule that raised or answered nonsense; it is not asked again in the run."""
    return f"{rule} is broken and left out: {error}"
