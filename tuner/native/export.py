"""A trial stage's rules and gate as the JSON that the C++ functions load."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.gate import Gate
from pruner.recording import record
from pruner.recording.table import Layout
from pruner.rule import Rule
from pruner.trees import trees_of
from tuner.native.engine import GateNumbers, Pruner


def exported(rules: Sequence[Rule], gate: Gate | None, chip: Chip, layout: Layout) -> Pruner:
    """The recordable rules, and the gate where it is ready and predicts from its own trees alone.

    ``programme.checks`` names the rules that are in it.
    """
    usable = gate is not None and gate.booster is not None and not gate.warm
    programme = record(rules, chip, layout, gate=usable).programme
    if not usable or gate is None or gate.booster is None or not programme.features:
        return Pruner(programme)
    platt, margin = gate.scaling
    numbers = GateNumbers(
        platt.slope,
        platt.offset,
        platt.spread,
        float(np.log(gate.best_us)),
        gate.threshold_now,
        margin,
    )
    folds = tuple(map(trees_of, gate.doubters))
    return Pruner(programme, trees_of(gate.booster), numbers, folds)


def columns_of_table(pruner: Pruner, table: KernelTable) -> NDArray[np.float64]:
    """``(columns, rows)`` float64: the columns of a table that ``PruneSearchSpace`` wants."""
    return np.stack([table[c.name].astype(np.float64) for c in pruner.programme.columns])
