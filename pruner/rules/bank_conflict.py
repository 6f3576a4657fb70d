"""Shared-memory accesses that the banks have to serialise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.gpu_sm.chip import WARP
from hwsim.table import KernelTable
from pruner.conflicts import conflict_ways
from pruner.rule import Finding, limit
from pruner.verdict import Stage


@dataclass(frozen=True)
class BankConflict:
    """No shared-memory access may take more than ``max_ways`` times its conflict-free passes."""

    name: ClassVar[str] = "bank-conflict"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = False

    max_ways: float = WARP / 2

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Mean conflict of the shared-memory accesses against the allowance."""
        ways: np.ndarray[tuple[int], np.dtype[np.float64]] = conflict_ways(table)
        return limit(
            "bank_conflict_ways",
            ways,
            self.max_ways,
            "ways",
            reason="shared-memory accesses take {need} passes each, {have} are tolerated",
            benefit="a run that waits for shared memory",
        )
