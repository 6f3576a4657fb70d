"""Split factors of a matmul that are no multiple of the matrix unit's side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from pruner.rule import Finding
from pruner.task import Decision, Space
from pruner.verdict import Stage


@dataclass(frozen=True)
class SplitMultiple:
    """Every factor of a matmul's tiles, the outermost aside, is 1 or a multiple of ``multiple``.

    The outermost loop is what the split leaves over, not a factor; 1 is no split.  ``multiple`` 0
    takes the chip's ``rules.split_multiple`` for the axis's dtype.  Factors count elements: where a
    tensor intrinsic covers 16 of them, the innermost factor is one already.
    """

    name: ClassVar[str] = "split-multiple"
    stage: ClassVar[Stage] = "task"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm")
    hard: ClassVar[bool] = False
    joint: ClassVar[bool] = False

    multiple: int = 0

    def check(self, space: Space, decision: Decision, chip: Chip) -> Finding | None:
        """The factor that is furthest from a multiple gives need and have."""
        axis = decision.axis
        if not space.task.matmul or decision.meaning != "tile" or axis is None:
            return None
        multiple = self.multiple or _of_chip(chip, axis.dtype)
        factors = decision.values[:, 1:].astype(np.float64) * decision.unit
        rounded = np.where(
            factors <= decision.unit, factors, np.ceil(factors / multiple) * multiple
        )
        if not factors.shape[1]:
            return None
        rows = np.arange(len(factors))
        worst = np.argmax(rounded - factors, axis=1)
        need, have = rounded[rows, worst], factors[rows, worst]
        return Finding(
            keep=need == have,
            quantity="split_factor",
            need=need,
            have=have,
            unit="elements",
            reason=f"a factor of {{have}} is no multiple of {multiple}, {{need}} is the next",
            benefit="every candidate with this split",
            basis=() if self.multiple else (f"rules.split_multiple.{axis.dtype}",),
        )


def _of_chip(chip: Chip, dtype: str) -> int:
    return {str(name): n for name, n in chip.rules.split_multiple.items()}.get(dtype, 1)
