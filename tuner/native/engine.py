"""A trial stage's rules and trees in C++."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hwsim.table import KernelTable
from pruner.recording import Programme, Recorded
from pruner.recording.stage import Answers
from pruner.rule import Finding
from pruner.trees import Trees
from tuner.native.library import library


class GateNumbers(msgspec.Struct, frozen=True):
    """What turns the sum of the trees into a probability and a verdict; see :mod:`pruner.gate`."""

    slope: float
    offset: float
    spread: float
    best_log: float
    threshold: float
    margin: float


class Pruner(msgspec.Struct, frozen=True):
    """What the C++ functions load; docs/native.md describes the JSON."""

    programme: Programme
    forest: Trees | None = None
    gate: GateNumbers | None = None
    folds: tuple[Trees, ...] = ()

    def to_json(self) -> str:
        """One line of JSON."""
        return msgspec.json.encode(self).decode()


class NativeEngine:
    """Evaluates recorded rules, features and trees; ``NativeError`` where there is no library."""

    def __init__(
        self, recorded: Recorded, forest: Trees | None = None, gate: GateNumbers | None = None
    ) -> None:
        self.recorded, self.forest = recorded, forest
        self._names = tuple(column.name for column in recorded.programme.columns)
        self._wide = len(recorded.programme.features)
        pruner = Pruner(recorded.programme, forest, gate)
        self._judge: Any = library()("LoadPruner")(pruner.to_json())

    def run(self, table: KernelTable) -> Answers:
        """Answers for a table of the layout that was recorded."""
        return self._answers(table, _NO_KEEP, _NO_SIDES)

    def findings(self, table: KernelTable) -> dict[int, Finding]:
        """What each rule found, by the position of the rule among those that were recorded."""
        checks = len(self.recorded.rules)
        keep, sides = np.empty((checks, table.n), np.bool_), np.empty((2, checks, table.n))
        self._answers(table, keep.view(np.uint8), sides)
        return {
            rule: replace(words, keep=keep[k], need=sides[0, k], have=sides[1, k])
            for k, (rule, words) in enumerate(
                zip(self.recorded.rules, self.recorded.words, strict=True)
            )
        }

    def _answers(
        self, table: KernelTable, keep: NDArray[np.uint8], sides: NDArray[np.float64]
    ) -> Answers:
        n = table.n_candidates
        features, trees = np.empty((n, self._wide), np.float32), np.empty(n)
        code = np.empty(n, np.int64)
        cells, first = cells_of(table, self._names), first_rows(table)
        self._judge(cells, first, features, trees, code, keep, sides)
        return Answers(code, features, trees)


_NO_KEEP, _NO_SIDES = np.empty((0, 0), np.uint8), np.empty((0, 0, 0))


def cells_of(table: KernelTable, names: tuple[str, ...]) -> NDArray[np.int64]:
    """``(columns, rows)``: the 8 bytes of each number, int64 or float64."""
    buffers: list[Any] = [table.columns[name] for name in names]
    cells = bytearray().join(buffers)
    return np.frombuffer(cells, np.int64).reshape(len(names), table.n)


def first_rows(table: KernelTable) -> NDArray[np.int64]:
    """``(candidates,)``: where each candidate's rows start."""
    ids = table.columns["candidate"]
    if table.n_candidates == table.n:
        return ids.copy()  # a table may be frozen, and the FFI takes no frozen arrays
    return np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
