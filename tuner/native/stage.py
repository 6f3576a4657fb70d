"""The C++ engine in the place of numpy in a trial stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.containment import guarded
from pruner.engine import Reading
from pruner.gate import Gate
from pruner.recording import Recorder
from pruner.recording.table import Layout
from pruner.rule import Finding, Rule
from pruner.trees import NotExportable, Trees, trees_of
from tuner.native.engine import NativeEngine
from tuner.native.library import NativeError, library, ready

FEW = 64


@dataclass
class NativeStage:
    """An engine of a trial stage; records anew when rules, gate or a table's layout change."""

    chip: Chip
    _recorders: dict[Layout, Recorder] = field(default_factory=dict)
    _made: dict[Layout, tuple[tuple[object, ...], NativeEngine]] = field(default_factory=dict)
    _trusted: dict[int, Rule] = field(default_factory=dict)
    _trees: tuple[object, Trees | None] = (None, None)

    def read(self, rules: Sequence[Rule], gate: Gate | None, table: KernelTable) -> Reading:
        """Codes, features and sums of trees; findings when they are asked for."""
        engine = self._engine(rules, gate, table)
        answers = engine.run(table)
        at = np.array((*engine.recorded.rules, -1))  # a code of -1 picks the last one
        return Reading(
            rules=frozenset(engine.recorded.rules),
            code=at[answers.code],
            features=answers.features if answers.features.shape[1] else None,
            trees=answers.trees if engine.pruner.forest else None,
            findings=partial(engine.findings, table),
        )

    def _engine(self, rules: Sequence[Rule], gate: Gate | None, table: KernelTable) -> NativeEngine:
        layout, state = Layout.of(table), (rules, gate and gate.booster)
        known = self._made.get(layout)
        if known is not None and all(a is b for a, b in zip(known[0], state, strict=True)):
            return known[1]
        recorder = self._recorders.setdefault(layout, Recorder(self.chip, layout))
        engine = self._tried(recorder, rules, gate, table.take_candidates(np.arange(few(table))))
        self._made[layout] = state, engine
        return engine

    def _tried(
        self, recorder: Recorder, rules: Sequence[Rule], gate: Gate | None, table: KernelTable
    ) -> NativeEngine:
        """An engine whose rules that are new say of a few candidates what they say in numpy.

        Those that do not (a rule may look at more than numbers) are left to numpy.
        """
        forest = self._forest(gate)
        engine = NativeEngine(recorder.record(rules, gate=gate is not None), forest)
        found = engine.findings(table)
        new = [i for i in found if id(rules[i]) not in self._trusted]
        wrong = [i for i in new if not _agrees(rules[i], self.chip, table, found[i])]
        for i in wrong:
            recorder.leave(rules[i], "other numbers than numpy's")
        self._trusted.update((id(rules[i]), rules[i]) for i in new if i not in wrong)
        if not wrong:
            return engine
        return NativeEngine(recorder.record(rules, gate=gate is not None), forest)

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


def few(table: KernelTable) -> int:
    """How many candidates of a table a rule is tried on."""
    return min(table.n_candidates, FEW)


def _agrees(rule: Rule, chip: Chip, table: KernelTable, found: Finding) -> bool:
    expected = guarded("", partial(rule.check, table.frozen(), chip), table.n, {})
    if expected is None:
        return False
    sides = ("keep", "need", "have")
    return all(np.array_equal(getattr(found, s), getattr(expected, s)) for s in sides)


def native_stage(chip: Chip) -> NativeStage | None:
    """An engine where the library has been built and loads, else ``None``: numpy serves."""
    if not ready():
        return None
    try:
        library()
    except (NativeError, OSError):
        return None
    return NativeStage(chip)
