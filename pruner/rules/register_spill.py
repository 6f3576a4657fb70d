"""GPU kernels whose accumulators and fragments do not fit the registers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hwsim.chip import Chip
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.occupancy import registers_of
from hwsim.rows import Rows
from hwsim.table import KernelTable
from pruner.rule import Finding, limit
from pruner.verdict import Stage


@dataclass(frozen=True)
class RegisterSpill:
    """At most ``max_spilled`` 32-bit registers of a thread may live in local memory."""

    name: ClassVar[str] = "register-spill"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = False

    max_spilled: int = 0

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Spilled registers of a thread against the allowance."""
        assert isinstance(chip, GpuChip)
        return limit(
            "spilled_registers",
            registers_of(Rows(table), chip)[1],
            self.max_spilled,
            "registers",
            reason="spills {need} registers of a thread to local memory, {have} are tolerated",
            benefit="a run that moves {excess} spilled registers of every thread",
            basis=("registers_sm",),
        )
