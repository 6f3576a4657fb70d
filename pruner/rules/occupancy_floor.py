"""GPU kernels with too few resident warps to hide latency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.occupancy import occupancy_of
from hwsim.rows import Rows
from hwsim.table import KernelTable
from pruner.rule import Finding
from pruner.verdict import Stage


@dataclass(frozen=True)
class OccupancyFloor:
    """Resident warps of an SM over its maximum have to reach ``min_share``.

    One warp in each of the four sub-partitions is the least that can issue every cycle: 4 of 64
    warps, the default.
    """

    name: ClassVar[str] = "occupancy-floor"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = False

    min_share: float = 0.0625

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """The floor against the occupancy of ``cuda_occupancy.h``."""
        assert isinstance(chip, GpuChip)
        return Finding(
            keep=(have := occupancy_of(Rows(table), chip).share) >= self.min_share,
            quantity="occupancy",
            need=np.full(table.n, self.min_share),
            have=have,
            unit="share",
            reason="keeps {have} of an SM's warps resident, {need} are needed to hide latency",
            benefit="a run that waits for memory with idle schedulers",
            basis=("max_threads_sm", "registers_sm", "shared_sm_kib"),
        )
