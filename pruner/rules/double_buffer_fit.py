"""Buffers of one copy where a second one would fit and have something to overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.rule import Finding
from pruner.scopes import SCOPES, capacity, footprint
from pruner.verdict import Stage


@dataclass(frozen=True)
class DoubleBufferFit:
    """A block of several steps keeps two copies of what it stages in ``scope``, if they fit.

    With one copy the engine that fills the buffer and the unit that reads it take turns.  A second
    copy is not free where it takes the room of a larger tile, which this rule does not weigh: it is
    no part of the default set.
    """

    name: ClassVar[str] = "double-buffer-fit"
    stage: ClassVar[Stage] = "trial"
    hard: ClassVar[bool] = False

    scope: Literal["l1", "l0a", "l0b", "ub", "nram", "wram", "sram"]

    @property
    def backends(self) -> tuple[str, ...]:
        """The one backend that has the scope."""
        return (SCOPES[self.scope].backend,)

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Copies of the staged buffers; one is asked for where there is no room or no next step."""
        held = np.asarray(table[f"{self.scope}_bytes"], dtype=np.float64)
        room, fields = capacity(chip, self.scope)
        # What is staged is not known of a single copy: as if all that the scope holds were.
        fits = (held > 0) & (footprint(table, self.scope) + held <= room)
        steps = table["out_tiles"] * table["k_steps"]
        need = np.where(fits & (steps > 1), 2.0, 1.0)
        have = np.maximum(table[f"{self.scope}_buffers"], 1).astype(np.float64)
        return Finding(
            keep=need <= have,
            quantity=f"{self.scope}_buffers",
            need=need,
            have=have,
            unit="copies",
            reason=f"keeps {{have}} copy in {self.scope}, where {{need}} fit",
            benefit="a run in which loading and computing take turns",
            basis=fields,
        )
