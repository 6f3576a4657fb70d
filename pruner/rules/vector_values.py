"""Vector lengths offered by a sampling instruction that the chip does not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hwsim.chip import Chip
from pruner.lanes import allowed_lanes, lanes_field, nearest
from pruner.rule import Finding
from pruner.task import Decision, Space
from pruner.verdict import Stage


@dataclass(frozen=True)
class VectorValues:
    """A choice of vector lanes is one of the chip's lengths for the dtype that is moved.

    ``table=as_described`` reads the lengths 8 (fp16) and 4 (fp32); ``default`` those that the
    hardware really has.  A dtype without an entry is let through.
    """

    name: ClassVar[str] = "vector-values"
    stage: ClassVar[Stage] = "task"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm")
    hard: ClassVar[bool] = False
    joint: ClassVar[bool] = False

    table: Literal["default", "as_described"] = "default"

    def check(self, space: Space, decision: Decision, chip: Chip) -> Finding | None:
        """Lanes of each value against the nearest allowed length."""
        if decision.meaning != "vector_lanes" or decision.axis is None:
            return None
        allowed = allowed_lanes(chip, self.table, decision.axis.dtype)
        if allowed is None:
            return None
        lanes = decision.values[:, 0].astype(np.float64)
        have = nearest(lanes, allowed)
        return Finding(
            keep=lanes == have,
            quantity="vector_lanes",
            need=lanes,
            have=have,
            unit="elements",
            reason="a vector of {need} elements is not in the chip's table, the nearest is {have}",
            benefit="every candidate with this vector length",
            basis=(f"{lanes_field(self.table)}.{decision.axis.dtype}",),
        )
