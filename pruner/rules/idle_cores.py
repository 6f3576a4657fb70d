"""CPU kernels whose parallel loop is too short for the cores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.cpu.chip import CpuChip
from hwsim.table import KernelTable
from pruner.machine import machine_of
from pruner.rule import Finding
from pruner.verdict import Stage


@dataclass(frozen=True)
class IdleCores:
    """The parallel loop of a kernel needs an iteration for each of the cores it should use.

    ``min_share`` of the cores, 0 takes the chip's ``rules.min_core_share``.  A kernel so small that
    one core does it, at its peak, in the time that waking the others takes is let through.
    """

    name: ClassVar[str] = "idle-cores"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("cpu",)
    hard: ClassVar[bool] = False

    min_share: float = 0.0

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Cores that should have work against iterations of the parallel loop."""
        assert isinstance(chip, CpuChip)
        share = self.min_share or chip.rules.min_core_share
        alone_us = table["macs"] / machine_of(chip).macs_per_us * chip.cores
        have = table["blocks"].astype(np.float64)
        return Finding(
            keep=(have >= np.ceil(share * chip.cores)) | (alone_us <= chip.start_us),
            quantity="parallel_iterations",
            need=np.where(alone_us > chip.start_us, np.ceil(share * chip.cores), 1.0),
            have=have,
            unit="iterations",
            reason="has {have} parallel iterations, {need} cores should have work",
            benefit="a run that leaves cores idle from beginning to end",
            basis=("cores", "rules.min_core_share"),
        )
