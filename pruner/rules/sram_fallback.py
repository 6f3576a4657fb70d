"""Tiles beyond the MLU's SRAM: they compile, and then live in DDR without a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.rule import Finding, limit
from pruner.scopes import capacity, footprint
from pruner.verdict import Stage


@dataclass(frozen=True)
class SramFallback:
    """Predicts the SRAM footprint of a cluster and prunes what would fall back to DDR.

    A tile that stays in GDRAM costs the whole chip's DDR bandwidth at every pass over it, where the
    same schedule with a smaller tile would have hit the SRAM.
    """

    name: ClassVar[str] = "sram-fallback"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("mlu_sram",)
    hard: ClassVar[bool] = False

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Bytes of all copies against what the compiler leaves of a cluster's SRAM."""
        have, fields = capacity(chip, "sram")
        return limit(
            "sram_bytes",
            footprint(table, "sram"),
            have,
            "B",
            reason="needs {need} B of SRAM, there are {have} B: the tile falls back to DDR",
            benefit="a run at DDR speed, {excess} B of spilling avoided",
            basis=(*fields, "spill"),
        )
