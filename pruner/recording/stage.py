"""A trial stage's rules, features and trees by whatever interprets recorded programmes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.containment import guarded
from pruner.engine import Reading
from pruner.gate import Gate
from pruner.recording.record import Recorded, Recorder
from pruner.recording.scalar import finding, judging
from pruner.recording.table import Layout
from pruner.rule import Finding, Rule
from pruner.trees import NotExportable, Trees, trees_of

FEW = 64


@dataclass(frozen=True)
class Answers:
    """``code`` ``(candidates,)``: index of the first check that objects, -1, or -2 (the gate);
    ``features`` ``(candidates, 38)``, no columns where they were not recorded; ``trees``
    ``(candidates,)`` their sum, ``nan`` where a rule objects or there is no forest; ``draft_us`` of
    a single candidate, where it is known.
    """

    code: NDArray[np.int64]
    features: NDArray[np.float32]
    trees: NDArray[np.float64]
    draft_us: Callable[[], float | None] = lambda: None


class Interpreter(Protocol):
    """Evaluates one programme over tables of the layout that was recorded."""

    recorded: Recorded
    forest: Trees | None

    def run(self, table: KernelTable) -> Answers:
        """Answers for every candidate; ``OverflowError`` where it cannot say what numpy says."""
        ...

    def findings(self, table: KernelTable) -> Mapping[int, Finding]:
        """What each rule found, by the position of the rule among those that were recorded."""
        ...


_UNKNOWN = np.array((np.nan,))

Make = Callable[[Recorded, Trees | None], Interpreter]


class Scalar:
    """One row in Python's own numbers."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self.forest: Trees | None = None  # the gate walks all its forests together
        self._judge = judging(recorded.programme)
        self._wide = len(recorded.programme.features)

    def run(self, table: KernelTable) -> Answers:
        """The code, and the features where no rule objects."""
        said = self._judge(table.columns)
        code, values = next(said)
        if not values:
            return Answers(np.array((code,)), np.zeros((1, self._wide), np.float32), _UNKNOWN)
        draft_us = partial(_next, said)
        return Answers(np.array((code,)), np.array((values,), np.float32), _UNKNOWN, draft_us)

    def findings(self, table: KernelTable) -> dict[int, Finding]:
        """All sides of every rule."""
        sides = finding(self.recorded.programme)(table.columns)
        columns = [np.array((side,)) for side in sides]
        of_rules = zip(columns[::3], columns[1::3], columns[2::3], strict=True)
        known = zip(self.recorded.rules, self.recorded.words, of_rules, strict=True)
        return {
            rule: replace(words, keep=keep, need=need, have=have)
            for rule, words, (keep, need, have) in known
        }


def _next(said: Iterator[tuple[int, tuple[float, ...]]]) -> float | None:
    """The draft; ``None`` where it is not recorded, or leaves int64."""
    with suppress(StopIteration, OverflowError):
        return next(said)[1][0]
    return None


@dataclass
class RecordedStage:
    """An engine of a trial stage; records anew when rules, gate or a table's layout change.

    ``single``: its tables have one row each; the draft is recorded as well, and no forest is made.
    """

    chip: Chip
    make: Make
    single: bool = False
    _recorders: dict[Layout, Recorder] = field(default_factory=dict)
    _made: dict[Layout, tuple[tuple[object, ...], Interpreter]] = field(default_factory=dict)
    _trusted: dict[int, Rule] = field(default_factory=dict)
    _trees: tuple[object, Trees | None] = (None, None)
    _last: tuple[tuple[object, ...], Layout] | None = None

    def read(self, rules: Sequence[Rule], gate: Gate | None, table: KernelTable) -> Reading | None:
        """Codes, features and sums of trees; findings when they are asked for."""
        engine = self._engine(rules, gate, table)
        try:
            answers = engine.run(table)
        except OverflowError:
            return None
        return Reading(
            rules=engine.recorded.rules,
            code=engine.recorded.at[answers.code],
            features=answers.features if answers.features.shape[1] else None,
            trees=answers.trees if engine.forest else None,
            findings=partial(engine.findings, table),
            draft_us=answers.draft_us,
        )

    def _engine(self, rules: Sequence[Rule], gate: Gate | None, table: KernelTable) -> Interpreter:
        layout, state = self._layout(table), (rules, gate and gate.booster)
        known = self._made.get(layout)
        if known is not None and all(a is b for a, b in zip(known[0], state, strict=True)):
            return known[1]
        recorder = self._recorders.setdefault(layout, Recorder(self.chip, layout))
        engine = self._tried(recorder, rules, gate, table.take_candidates(np.arange(few(table))))
        self._made[layout] = state, engine
        return engine

    def _layout(self, table: KernelTable) -> Layout:
        """That of the last table where this one has the same columns."""
        told = table.backend, table.n_candidates < table.n, *table.columns
        if self._last is None or self._last[0] != told:
            self._last = told, Layout.of(table)
        return self._last[1]

    def _tried(
        self, recorder: Recorder, rules: Sequence[Rule], gate: Gate | None, table: KernelTable
    ) -> Interpreter:
        """An engine whose rules that are new say of a few candidates what they say in numpy.

        Those that do not (a rule may look at more than numbers) are left to numpy.
        """
        forest = None if self.single else self._forest(gate)
        asked = {"gate": gate is not None, "draft": gate is not None and self.single}
        engine = self.make(recorder.record(rules, **asked), forest)
        new = [i for i in engine.recorded.rules if id(rules[i]) not in self._trusted]
        found = engine.findings(table) if new else {}
        wrong = [i for i in new if not _agrees(rules[i], self.chip, table, found[i])]
        for i in wrong:
            recorder.leave(rules[i], "other numbers than numpy's")
        self._trusted.update((id(rules[i]), rules[i]) for i in new if i not in wrong)
        if not wrong:
            return engine
        return self.make(recorder.record(rules, **asked), forest)

    def _forest(self, gate: Gate | None) -> Trees | None:
        booster = gate and gate.booster
        if booster is None:
            return None
        if self._trees[0] is not booster:
            try:
                self._trees = booster, trees_of(booster)
            except NotExportable:
                self._trees = booster, None  # LightGBM predicts
        return self._trees[1]


def single_stage(chip: Chip) -> RecordedStage:
    """What answers for single rows, in Python's own numbers."""
    return RecordedStage(chip, lambda recorded, _: Scalar(recorded), single=True)


def few(table: KernelTable) -> int:
    """How many candidates of a table a rule is tried on."""
    return min(table.n_candidates, FEW)


def _agrees(rule: Rule, chip: Chip, table: KernelTable, found: Finding) -> bool:
    expected = guarded("", partial(rule.check, table.frozen(), chip), table.n, {})
    if expected is None:
        return False
    sides = ("keep", "need", "have")
    return all(np.array_equal(getattr(found, s), getattr(expected, s)) for s in sides)
