"""CPU tiles that their cache cannot hold."""

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
class CacheTile:
    """One step of the innermost reduction tile has to fit the core's second cache.

    It is the tile that is gone through again and again; where it does not fit, every pass streams
    it from the last cache or from memory.
    """

    name: ClassVar[str] = "cache-tile"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("cpu",)
    hard: ClassVar[bool] = False

    share: float = 1.0

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Bytes that a tile of the first level touches against the size of L2."""
        assert isinstance(chip, CpuChip)
        return limit(
            "tile_bytes",
            np.where(table["macs"] > 0, table["level1_bytes"], 0.0),
            self.share * chip.l2_kib * 1024.0,
            "B",
            reason="goes through {need} B in its innermost tile, L2 should hold it in {have} B",
            benefit="a run that streams its innermost tile from beyond L2",
            basis=("l2_kib",),
        )
