"""Integer accumulators that a full-range reduction can overflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.rule import Finding
from pruner.verdict import Stage


@dataclass(frozen=True)
class IntOverflow:
    """Integer sums have to fit their accumulators whatever the inputs are.

    Every accumulator of the schedule counts: partial sums of a split reduction, their sum, what an
    epilogue adds.  K products of two int8 need K 2^14 <= 2^(b-1) - 1: 131,071 fit 32 bits, one fits
    16 (:mod:`pruner.safety.ranges`).  A schedule beyond that can compute wrong values.
    """

    name: ClassVar[str] = "int-overflow"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm", "cpu")
    hard: ClassVar[bool] = True

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Width that the tightest sum needs against the width that its accumulator has."""
        need, have = (table[name].astype(np.float64) for name in ("sum_need_bits", "sum_bits"))
        return Finding(
            keep=need <= have,
            quantity="accumulator_bits",
            need=need,
            have=have,
            unit="bits",
            reason="its sums of full-range integers need {need} bits, the accumulator has {have}",
            benefit="a kernel that can overflow and compute wrong values",
        )
