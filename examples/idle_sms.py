"""A rule of one's own: prune GPU kernels that leave too many SMs without a block."""

from dataclasses import dataclass
from typing import ClassVar

from hwsim.table import KernelTable
from pruner.rule import Finding, limit


@dataclass(frozen=True)
class IdleSms:
    """At most ``share`` of the SMs may stay without a block."""

    name: ClassVar[str] = "idle-sms"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = False  # slow, not impossible

    share: float = 0.5

    def check(self, table: KernelTable, chip) -> Finding:
        """Columns in, columns out: one row a kernel; pure."""
        idle = (chip.sms - table["blocks"]).clip(min=0)
        return limit(
            "idle_sms",
            idle,
            self.share * chip.sms,
            "SMs",
            reason="{need} SMs have no block, at most {have} may",
            benefit="a run that leaves most of the chip idle",
            basis=("sms",),
        )
