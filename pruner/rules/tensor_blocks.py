"""The matrix unit takes whole blocks: 16x16x16 on the Cube, 64-element rows on the MLU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.rule import Finding, FloatColumn
from pruner.verdict import Stage


@dataclass(frozen=True)
class TensorBlocks:
    """A tensorised row's matrix instructions have to be multiples of its tensor intrinsic.

    Anything else cannot be expressed by the intrinsic: the schedule would not tensorise.
    """

    name: ClassVar[str] = "tensor-blocks"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram")
    hard: ClassVar[bool] = True

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """The dimension that is furthest off gives need (rounded up) and have."""
        need, have = np.zeros(table.n), np.zeros(table.n)
        for dim in ("m", "n", "k"):
            block = np.maximum(table[f"intrin_{dim}"].astype(np.float64), 1)
            size: FloatColumn = table[f"mm_{dim}"].astype(np.float64)
            rounded = np.ceil(size / block) * block
            worse = rounded - size > need - have
            need, have = np.where(worse, rounded, need), np.where(worse, size, have)
        return Finding(
            keep=need <= have,
            quantity="matrix_instruction",
            need=need,
            have=have,
            unit="elements",
            reason="the matrix unit takes whole blocks: {need} elements, the tile has {have}",
            benefit="a schedule that does not tensorise",
            basis=_fields(chip),
        )


def _fields(chip: Chip) -> tuple[str, ...]:
    if chip.backend == "ascend_cube":
        return ("cube_m", "cube_n", "cube_k")
    return ("matmul_multiple",)
