"""Axes that cannot matter: a split of something of length 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from pruner.rule import Finding
from pruner.task import Decision, Space
from pruner.verdict import Stage


@dataclass(frozen=True)
class UnitSplit:
    """An axis of length 1 is split in one way only: the smallest offered.

    Whatever the others would be, all but one of the iterations they make are empty.
    """

    name: ClassVar[str] = "unit-split"
    stage: ClassVar[Stage] = "task"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm", "cpu")
    hard: ClassVar[bool] = False
    joint: ClassVar[bool] = False

    def check(self, space: Space, decision: Decision, chip: Chip) -> Finding | None:
        """Iterations that a value makes of the single element against the fewest offered."""
        if decision.axis is None or decision.axis.length != 1:
            return None
        if decision.meaning not in ("tile", "threads", "cores"):
            return None
        need = decision.values.prod(axis=1).astype(np.float64)
        return Finding(
            keep=need <= need.min(),
            quantity="iterations",
            need=need,
            have=np.full(len(need), need.min()),
            unit="iterations",
            reason="splits an axis of length 1 into {need} iterations, {have} do the same",
            benefit="candidates that only differ in empty iterations",
        )
