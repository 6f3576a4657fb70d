"""CPU tiles of accumulators far beyond the registers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.cpu.chip import CpuChip
from hwsim.table import KernelTable
from pruner.rule import Finding, limit
from pruner.verdict import Stage


@dataclass(frozen=True)
class AccumulatorTile:
    """The accumulators inside the innermost reduction loop may take ``slack`` times the registers.

    What is not in registers is read and written back with every step of the reduction, two memory
    accesses for one operation; a few times the registers still live off the first cache.
    """

    name: ClassVar[str] = "accumulator-tile"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("cpu",)
    hard: ClassVar[bool] = False

    slack: float = 8.0

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Bytes of accumulators against bytes of vector registers."""
        assert isinstance(chip, CpuChip)
        return limit(
            "accumulator_bytes",
            np.where(table["macs"] > 0, table["acc_bytes"], 0.0),
            self.slack * chip.vector_registers * chip.vector_bytes,
            "B",
            reason="accumulates in {need} B inside a reduction step, {have} B are tolerated",
            benefit="a run that reads and writes its accumulators with every step",
            basis=("vector_registers", "vector_bytes"),
        )
