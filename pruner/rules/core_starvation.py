"""Kernels that leave most of the chip idle although there is work for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.machine import blocks_of, machine_of
from pruner.rule import Finding
from pruner.verdict import Stage


@dataclass(frozen=True)
class CoreStarvation:
    """A kernel has to use a share of the chip's cores.

    ``min_share`` 0 takes the chip's ``rules.min_core_share``.  A kernel so small that the launch
    itself takes longer than its peak compute time is let through: it may be cheapest on few cores.
    """

    name: ClassVar[str] = "core-starvation"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm")
    hard: ClassVar[bool] = False

    min_share: float = 0.0

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Cores demanded against blocks."""
        machine = machine_of(chip)
        share = self.min_share or chip.rules.min_core_share
        alone = table["macs"] / machine.peak(table)
        need = np.where(alone > machine.launch_us, np.ceil(share * machine.cores_for(table)), 1.0)
        have = blocks_of(table)
        return Finding(
            keep=need <= have,
            quantity="cores_used",
            need=need,
            have=have,
            unit="cores",
            reason="works on {have} cores, at least {need} should have work",
            benefit="a run that leaves most of the chip idle",
            basis=(*machine.fields["cores"], "rules.min_core_share"),
        )
