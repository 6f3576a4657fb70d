"""Footprint by memory scope: what exceeds an on-chip memory does not compile (or launch)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.rule import Finding, limit
from pruner.scopes import SCOPES, Scope, capacity, footprint
from pruner.verdict import Stage


@dataclass(frozen=True)
class Capacity:
    """Every copy of every buffer of a block has to fit into ``scope``.

    What exceeds L1, L0A, L0B, L0C, UB, NRAM, WRAM or shared memory is refused by the vendor's
    compiler, so that the trial would cost a compilation and yield nothing.  The SRAM of the MLU is
    not here: it spills, see ``sram-fallback``.
    """

    name: ClassVar[str] = "capacity"
    stage: ClassVar[Stage] = "trial"
    hard: ClassVar[bool] = True

    scope: Scope

    @property
    def backends(self) -> tuple[str, ...]:
        """The one backend that has the scope."""
        return (SCOPES[self.scope].backend,)

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Bytes of all copies against the scope's size."""
        have, fields = capacity(chip, self.scope)
        return limit(
            f"{self.scope}_bytes",
            footprint(table, self.scope),
            have,
            "B",
            reason=f"needs {{need}} B of {self.scope}, there are {{have}} B",
            benefit=f"a compilation that fails for {{excess}} B of {self.scope}",
            basis=fields,
        )
