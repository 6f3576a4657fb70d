"""A user's rule in a process of its own: what loops for ever, exits or crashes is ended and named.

The process imports neither TVM nor the tuner.  It is no sandbox: a rule runs with the rights of
whoever asked for it.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.containment import check_finding
from pruner.judgement import Outcome
from pruner.registry import load_rules
from pruner.rule import BoolColumn, Finding, Rule, RuleError
from pruner.spec import print_rule
from pruner.task import Task
from pruner.task_stage import TaskStage
from pruner.testing import conform, conform_task
from pruner.verdict import Verdict

T = TypeVar("T")
_START_S = 120.0  # for Python and numpy to start, which is not the rule's doing
_SINGLE = 20  # times that a single candidate is asked about to take the time of it


class HostError(Exception):
    """What a rule did that it must not; one line, without the rule's name."""


@dataclass(frozen=True)
class Described:
    """What a rule says of itself; ``spec`` is its printed form."""

    spec: str
    stage: str
    backends: tuple[str, ...]
    hard: bool


@dataclass(frozen=True)
class Checked:
    """A trial rule's answer for a table: ``keep`` ``(n_candidates,)``, and what it took."""

    keep: BoolColumn
    seconds: float


@dataclass(frozen=True)
class Reduced:
    """A task rule's answer for a task: a mask ``(v,)`` for each decision, and what it took."""

    allowed: Mapping[str, BoolColumn]
    remarks: tuple[str, ...]
    seconds: float


class RuleHost:
    """Rules of ``files`` and the shipped ones, asked in another process with ``limit_s`` an answer.

    After a :class:`HostError` that ended the process the next question starts a new one.
    """

    def __init__(self, files: Sequence[str] = (), limit_s: float = 30.0) -> None:
        self._files, self._limit_s = tuple(files), limit_s
        self._process: Any = None
        self._pipe: Connection | None = None

    def __enter__(self) -> RuleHost:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def describe(self, specs: Sequence[str]) -> list[Described]:
        """The rules that are meant: the named ones, else every rule of the files.

        Raises
        ------
        RuleError
            A file or a name is refused, or the files do not load in time.
        """
        try:
            found: list[Described] = self._ask("describe", tuple(specs))
        except HostError as error:
            where = ", ".join(self._files) or ", ".join(specs)
            raise RuleError(f"{where}: {error}") from None
        return found

    def conform(self, spec: str, chip: Chip) -> None:
        """Hold the rule to its contract on random tables; ``HostError`` says what it broke."""
        self._ask("conform", spec, chip)

    def check(self, spec: str, table: KernelTable, chip: Chip, best_us: float) -> Checked:
        """Ask a trial rule; one that follows the best latency is told ``best_us``."""
        return self._asked(Checked, "check", spec, table, chip, best_us)

    def verdicts(
        self, spec: str, table: KernelTable, chip: Chip, best_us: float, candidates: Sequence[int]
    ) -> list[Verdict]:
        """The written verdicts on some candidates of a table."""
        return list(self._ask("verdicts", spec, table, chip, best_us, tuple(candidates)))

    def reduce(self, spec: str, task: Task, chip: Chip) -> Reduced:
        """Ask a task rule about every decision of a task."""
        return self._asked(Reduced, "reduce", spec, task, chip)

    def value_verdict(
        self, spec: str, task: Task, chip: Chip, decision: str, value: int
    ) -> Verdict:
        """The written verdict on one value of a decision."""
        return self._asked(Verdict, "value_verdict", spec, task, chip, decision, value)

    def seconds_single(self, spec: str, table: KernelTable, chip: Chip, best_us: float) -> float:
        """What the rule takes for the table's first candidate alone, median of a few, s."""
        return self._asked(float, "seconds_single", spec, table, chip, best_us)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def _asked(self, kind: type[T], what: str, *arguments: Any) -> T:
        answer = self._ask(what, *arguments)
        if not isinstance(answer, kind):
            raise HostError(f"answered {type(answer).__name__} to {what}")
        return answer

    def _ask(self, what: str, *arguments: Any) -> Any:
        pipe = self._started()
        try:
            pipe.send((what, arguments))
            if not pipe.poll(self._limit_s):
                self.close()
                raise HostError(f"gave no answer within {self._limit_s:g} s ({_DOING[what]})")
            kind, answer = pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self.close()
            raise HostError(f"ended its process ({_DOING[what]})") from None
        if kind == "refused":
            raise RuleError(answer)
        if kind == "broken":
            raise HostError(answer)
        return answer

    def _started(self) -> Connection:
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, self._files), daemon=True)
            self._process.start()
            theirs.close()
            if not self._pipe.poll(_START_S):
                self.close()
                raise RuleError(f"a process for the rule did not start within {_START_S:g} s")
            self._pipe.recv()
        return self._pipe


_DOING = {
    "describe": "loading the rule",
    "conform": "conformance on random tables",
    "check": "kernels of the space",
    "verdicts": "verdicts on what it pruned",
    "seconds_single": "one candidate",
    "reduce": "values of the space",
    "value_verdict": "a verdict on a value",
}


def _serve(pipe: Connection, files: tuple[str, ...]) -> None:
    """The other process: answers until the pipe closes.  What a rule prints goes nowhere."""
    _silence()
    pipe.send("ready")
    served: _Served | None = None
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            what, arguments = pipe.recv()
            try:
                served = served or _Served(files)
                pipe.send(("answer", getattr(served, what)(*arguments)))
            except Exception as error:  # whatever a user's rule may raise
                pipe.send(("refused" if what == "describe" else "broken", _line(error)))


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, RuleError | HostError) else f"{type(error).__name__}: {text}"


def _silence() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(null, stream)


class _Served:
    """The questions, answered where the rule is."""

    def __init__(self, files: tuple[str, ...]) -> None:
        self._known, self._files = load_rules(files), files
        shipped = load_rules().classes
        self._own = [name for name in self._known.classes if name not in shipped]

    def describe(self, specs: tuple[str, ...]) -> list[Described]:
        rules = [self._known.parse(spec) for spec in specs or self._own]
        return [
            Described(print_rule(r), str(r.stage), tuple(map(str, r.backends)), bool(r.hard))
            for r in rules
        ]

    def conform(self, spec: str, chip: Chip) -> None:
        rule = self._known.parse(spec)
        (conform if rule.stage == "trial" else conform_task)(rule, chip)

    def check(self, spec: str, table: KernelTable, chip: Chip, best_us: float) -> Checked:
        rule = self._rule(spec, best_us)
        started = time.perf_counter()
        finding = _found(rule, table, chip)
        taken = time.perf_counter() - started
        again = _found(rule, table, chip)
        if not np.array_equal(finding.keep, again.keep):
            raise HostError("answers differently the second time")
        return Checked(Outcome.of(0, spec, rule.hard, finding, table).keep, taken)

    def seconds_single(self, spec: str, table: KernelTable, chip: Chip, best_us: float) -> float:
        rule, one = self._rule(spec, best_us), table.take_candidates([0]).frozen()
        return _median_seconds(partial(rule.check, one, chip))

    def verdicts(
        self,
        spec: str,
        table: KernelTable,
        chip: Chip,
        best_us: float,
        candidates: tuple[int, ...],
    ) -> list[Verdict]:
        from pruner.explain import verdict_of

        rule = self._rule(spec, best_us)
        found = Outcome.of(0, spec, rule.hard, _found(rule, table, chip), table)
        return [
            verdict_of("trial", spec, rule.hard, found.finding, found.row(c), chip)
            for c in candidates
        ]

    def reduce(self, spec: str, task: Task, chip: Chip) -> Reduced:
        stage = TaskStage([self._known.parse(spec)], chip)
        started = time.perf_counter()
        result = stage.run(task)
        taken = time.perf_counter() - started
        for error in result.disabled.values():
            raise HostError(error)
        return Reduced(dict(result.allowed), tuple(r.text for r in result.remarks), taken)

    def value_verdict(
        self, spec: str, task: Task, chip: Chip, decision: str, value: int
    ) -> Verdict:
        return TaskStage([self._known.parse(spec)], chip).run(task).verdict(decision, value)

    def _rule(self, spec: str, best_us: float) -> Rule:
        rule: Any = self._known.parse(spec)
        follow = getattr(rule, "with_best", None)
        followed: Rule = follow(best_us) if follow and np.isfinite(best_us) else rule
        return followed


def _found(rule: Rule, table: KernelTable, chip: Chip) -> Finding:
    finding = rule.check(table.frozen(), chip)
    check_finding(finding, table.n)
    return finding


def _median_seconds(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(_SINGLE):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return sorted(taken)[_SINGLE // 2]
