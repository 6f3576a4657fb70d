"""CPU loops that leave most of a vector register empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.cpu.chip import CpuChip
from hwsim.table import KernelTable
from pruner.rule import Finding
from pruner.verdict import Stage


@dataclass(frozen=True)
class VectorFill:
    """A vectorised loop has to fill ``min_share`` of the lanes of a vector register.

    A register works on all its lanes or on few at the same cost, so that the share of full lanes
    bounds the share of the peak.  A kernel without multiply-accumulates waits for memory and is let
    through.
    """

    name: ClassVar[str] = "vector-fill"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("cpu",)
    hard: ClassVar[bool] = False

    min_share: float = 0.5

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Bytes of the lanes that work against bytes that should."""
        assert isinstance(chip, CpuChip)
        have = table["vector_lanes"] * table["acc_bits"] / 8.0
        need = np.where(table["macs"] > 0, self.min_share * chip.vector_bytes, 0.0)
        return Finding(
            keep=need <= have,
            quantity="vector_bytes",
            need=need,
            have=have,
            unit="B",
            reason="works on {have} B of a vector register at a time, at least {need} B should",
            benefit="a run at a fraction of the vector unit's rate",
            basis=("vector_bytes",),
        )
