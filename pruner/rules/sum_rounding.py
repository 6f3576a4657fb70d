"""Floating-point sums whose rounding can spoil the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.rule import Finding
from pruner.safety.rounding import gamma
from pruner.verdict import Stage


@dataclass(frozen=True)
class SumRounding:
    """The worst rounding error of a sum, relative to the sum of magnitudes, stays below a bound.

    ``max_error`` 1/32 lets 62 terms be summed in float16 and 508,400 in float32, one after another;
    a split reduction lets more (:mod:`pruner.safety.rounding`).  In no rule set that ships: TVM's
    schedules never change the dtype that a program sums in, so that a program which asks for
    float16 sums would lose nearly its whole space.
    """

    max_error: float = 1 / 32

    name: ClassVar[str] = "sum-rounding"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm", "cpu")
    hard: ClassVar[bool] = False

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """``gamma_k`` of the longest chain of additions against the bound."""
        need = np.minimum(gamma(table["sum_rounding"]), 1e9)  # a number for the evidence
        return Finding(
            keep=need <= self.max_error,
            quantity="sum_error",
            need=need,
            have=np.full(table.n, self.max_error),
            unit="share",
            reason="its sums may be wrong by {need} of their magnitudes, {have} is accepted",
            benefit="a kernel whose results rounding may spoil",
        )
