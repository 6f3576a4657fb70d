"""Vector lengths that the chip's table does not list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.lanes import allowed_lanes, lanes_field, nearest
from pruner.machine import dtype_of
from pruner.rule import Finding
from pruner.verdict import Stage


@dataclass(frozen=True)
class VectorLength:
    """The widest vector access of a kernel has to be one of the chip's lengths for its dtype.

    ``table=as_described`` reads the lengths 8 (fp16) and 4 (fp32); ``default`` those that the
    hardware really has.  A dtype without an entry is let through, and so is a kernel that makes no
    vector access (length 1).
    """

    name: ClassVar[str] = "vector-length"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm")
    hard: ClassVar[bool] = False

    table: Literal["default", "as_described"] = "default"

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Lanes of the row against the nearest allowed length."""
        lanes = table["vector_lanes"].astype(np.float64)
        have, fields = lanes.copy(), []
        bits = table["in_bits"]
        for width in np.unique(bits):
            dtype = dtype_of(int(width))
            allowed = allowed_lanes(chip, self.table, dtype)
            if allowed is not None:
                rows = bits == width
                have[rows] = nearest(lanes[rows], allowed)
                fields.append(f"{lanes_field(self.table)}.{dtype}")
        return Finding(
            keep=(lanes == have) | (lanes <= 1),
            quantity="vector_lanes",
            need=lanes,
            have=have,
            unit="elements",
            reason="a vector of {need} elements is not in the chip's table, the nearest is {have}",
            benefit="a kernel with vector accesses that the unit has to cut",
            basis=tuple(fields),
        )
