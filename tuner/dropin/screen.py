"""The pruner of one task inside TVM's own search."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tvm_ffi
from tvm.s_tir import Schedule

from hwsim.table import KernelTable
from pruner.trial import TrialStage
from pruner.verdict import Verdict, kept
from tuner import tir
from tuner.dropin.callback import Voice
from tuner.dropin.shrink import Shrunk
from tuner.dropin.verdicts import Line, VerdictLog
from tuner.workloads import Workload

PATIENCE = 256  # candidates rejected in a row before the pruner opens for the rest of the round


def program_name(mod: Any) -> str:
    """16 hex digits that stand for a program."""
    return f"{tvm_ffi.structural_hash(mod) & (2**64 - 1):016x}"


@dataclass
class Screen:
    """Judges schedules, one at a time and from several threads; learns from measurements.

    Parameters
    ----------
    stage:
        The trial stage; ``None`` lets everything pass that the callback does not prune.
    shrunk:
        What the task stage left of the design space.
    measured:
        Programs (before postprocessing) that must pass: TVM ends a run in which a postprocessor
        rejects what its database holds.
    """

    task: str
    workload: Workload
    backend: str
    stage: TrialStage | None
    log: VerdictLog
    voice: Voice
    shrunk: Shrunk = field(default_factory=Shrunk)
    measured: set[str] = field(default_factory=set)
    patience: int = PATIENCE
    pruned: Counter[str] = field(default_factory=Counter)
    passed: int = 0
    failed: int = 0
    error: str = ""  # of the last failure
    opened: bool = False
    _in_a_row: int = 0
    _tables: dict[str, KernelTable] = field(default_factory=dict)
    _known: dict[str, Verdict] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.RLock, repr=False)

    def keep(self, sch: Any) -> bool:
        """Whether to go on with a replayed schedule; never raises."""
        try:
            with self._lock:
                return self._keep(sch)
        except Exception as error:  # an exception in a postprocessor ends TVM's whole run
            self.log.note(self.task, f"not judged: {type(error).__name__}: {_last_line(error)}")
            return True

    def _keep(self, sch: Any) -> bool:
        name = program_name(sch.mod)
        if name in self.measured:
            return True
        verdict = self._verdict(name, sch)
        keep = self.opened or self.voice.keep(self.task, name, verdict)
        if not keep:
            return self._reject(name, verdict)
        self._in_a_row, self.passed = 0, self.passed + 1
        return True

    def _verdict(self, name: str, sch: Any) -> Verdict:
        if name not in self._known:
            self._known[name] = self.shrunk.verdict(sch.trace) or self._judged(name, sch)
        return self._known[name]

    def _judged(self, name: str, sch: Any) -> Verdict:
        if self.stage is None:
            return kept("trial")
        try:
            table = tir.kernels(sch, self.workload, self.backend)
        except tir.Unsupported as reason:
            self.log.note(self.task, f"some candidates cannot be read and are kept: {reason}")
            return kept("trial", "cannot be read")
        self._tables[name] = table
        judgement = self.stage.judge(table, [name], rescue=False)
        for rule, error in self.stage.disabled.items():
            self.log.note(self.task, f"{rule} is broken and left out: {error}")
        return judgement.verdict(0)

    def _reject(self, name: str, verdict: Verdict) -> bool:
        """Record, then reject; open where nothing has passed for too long."""
        rule = verdict.rule if not verdict.keep else "callback"
        self._in_a_row += 1
        if self._in_a_row >= self.patience:
            self.open(f"{rule} and others rejected {self._in_a_row} candidates in a row")
            return True
        self.pruned[rule] += 1
        self.log.write(Line(task=self.task, subject=name, verdict=_pruning(verdict)))
        return False

    def open(self, reason: str) -> None:
        """Let everything pass until the next measurements are in, and say so."""
        self.opened, self._in_a_row = True, 0
        self.log.note(self.task, f"{reason}: the pruner lets everything pass until it has learned")

    def observe(self, mod: Any, candidates: Sequence[Any], latency_us: Sequence[float]) -> None:
        """Learn from measured candidates of ``mod``; ``inf`` is a failure."""
        with self._lock:
            names, tables, latency = [], [], []
            for candidate, us in zip(candidates, latency_us, strict=True):
                name, sch = before_postprocs(mod, candidate.sch.trace)
                self.measured.add(name)
                table = self._tables.get(name) or self._readable(sch)
                if table is not None:
                    names.append(name)
                    tables.append(table)
                    latency.append(us)
            if self.stage is not None and tables:
                self.stage.observe(KernelTable.concat(tables), names, np.array(latency))
            self._known.clear()  # the gate has changed
            self._tables.clear()
            self.opened = self.opened and not np.isfinite(latency_us).any()
            self.log.flush()

    def _readable(self, sch: Any) -> KernelTable | None:
        if self.stage is None:
            return None
        try:
            return tir.kernels(sch, self.workload, self.backend)
        except tir.Unsupported:
            return None

    def summary(self) -> str:
        """What became of the candidates, for a line on a search that found nothing."""
        found = f"{self.failed} measured candidates failed"
        if self.error:
            found += f" (the last: {self.error})"
        if self.pruned:
            rule, count = self.pruned.most_common(1)[0]
            found += f", {self.pruned.total()} were pruned, {count} of them by {rule}"
        return f"{found}, {self.passed} passed"


def before_postprocs(mod: Any, trace: Any) -> tuple[str, Any]:
    """``(name, schedule)`` of a trace without what the postprocessors added."""
    sch = Schedule(mod)
    trace.apply_to_schedule(sch, remove_postproc=True)
    return program_name(sch.mod), sch


def _pruning(verdict: Verdict) -> Verdict:
    if not verdict.keep:
        return verdict
    return Verdict(
        keep=False, stage=verdict.stage, rule="callback", reason="the registered callback prunes it"
    )


def _last_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else ""
