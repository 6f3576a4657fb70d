"""Integer accumulators that a full-range reduction can overflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.rule import Finding
from pruner.verdict import Stage

INTEGER_BITS = 8  # the only input width that is an integer in every workload


@dataclass(frozen=True)
class IntOverflow:
    """K products of two int8 have to fit the accumulator whatever the inputs are.

    The largest product is (-128)^2 = 2^14, so an accumulator of b bits holds floor((2^(b-1) - 1) /
    2^14) of them: 131,071 at 32 bits, one at 16.  A schedule beyond that can compute wrong values.
    """

    name: ClassVar[str] = "int-overflow"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm", "cpu")
    hard: ClassVar[bool] = True

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Length of the reduction against the products that the accumulator holds."""
        integer = (table["in_bits"] == INTEGER_BITS) & (table["macs"] > 0)
        product = 4.0 ** (INTEGER_BITS - 1)
        have = np.floor((2.0 ** (table["acc_bits"].astype(np.float64) - 1) - 1) / product)
        need = np.where(integer, table["reduce_length"], 0).astype(np.float64)
        return Finding(
            keep=need <= have,
            quantity="accumulated_products",
            need=need,
            have=have,
            unit="products",
            reason="sums {need} int8 products, the accumulator is safe up to {have}",
            benefit="a kernel that can overflow and compute wrong values",
        )
