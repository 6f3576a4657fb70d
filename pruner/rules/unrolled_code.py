"""CPU code that unrolling has made larger than the instruction cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.cpu.chip import CpuChip
from hwsim.table import KernelTable
from pruner.rule import Finding, limit
from pruner.verdict import Stage

# A multiply-accumulate on one register takes a load, an operation and mostly a store, each about
# 8 bytes with its prefix and address (Intel and AMD encode AVX instructions in 4 to 11 bytes).
STEP_BYTES = 24.0


@dataclass(frozen=True)
class UnrolledCode:
    """Unrolled copies of the innermost statement have to fit the instruction cache ``share`` times.

    Straight-line code beyond it is fetched anew with every pass, and compiles for seconds.
    """

    name: ClassVar[str] = "unrolled-code"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("cpu",)
    hard: ClassVar[bool] = False

    share: float = 1.0

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Bytes of the unrolled statement against the size of the instruction cache."""
        assert isinstance(chip, CpuChip)
        registers = np.ceil(table["vector_lanes"] * table["acc_bits"] / 8.0 / chip.vector_bytes)
        return limit(
            "code_bytes",
            table["body_copies"] * registers * STEP_BYTES,
            self.share * chip.l1_code_kib * 1024.0,
            "B",
            reason="unrolls to about {need} B of code, the instruction cache takes {have} B",
            benefit="a compilation of seconds, and code that is fetched anew with every pass",
            basis=("l1_code_kib", "vector_bytes"),
        )
