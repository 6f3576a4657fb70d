"""Off-chip transfers so short that their start-up dominates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.machine import blocks_of
from pruner.rule import Finding
from pruner.traffic import traffic_of
from pruner.verdict import Stage


@dataclass(frozen=True)
class ShortTransfer:
    """Every off-chip stream that matters has to move at least ``min_bytes`` at a time.

    On the Ascend 910B one core reads 9.9 GB/s in transfers of 1 KB and 261 GB/s in such of 256 KB
    (Huawei's msKPP measurements); 16 KB and more is the advice.  Kernels that touch less than
    ``min_bytes`` for each block altogether are let through.
    """

    name: ClassVar[str] = "short-transfer"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram")
    hard: ClassVar[bool] = False

    min_bytes: int = 16384

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Bytes demanded against the shortest transfer that carries a tenth of the traffic."""
        traffic = traffic_of(table)
        for_each_block = traffic.unique_bytes / blocks_of(table)
        need = np.minimum(float(self.min_bytes), for_each_block)
        have = traffic.shortest_bytes
        return Finding(
            keep=need <= have,
            quantity="transfer_bytes",
            need=need,
            have=have,
            unit="B",
            reason="moves {have} B at a time, {need} B would use the memory's rate",
            benefit="a run dominated by the start-up of its transfers",
        )
