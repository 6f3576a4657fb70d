"""Footprint by memory scope: what exceeds an on-chip memory does not compile (or launch)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.rule import RUN_STATE, Finding, limit
from pruner.scopes import SCOPES, Scope, capacity, footprint
from pruner.verdict import Stage


@dataclass(frozen=True)
class Capacity:
    """Every copy of every buffer of a block has to fit into ``scope``.

    What exceeds L1, L0A, L0B, L0C, UB, NRAM, WRAM or shared memory is refused by the vendor's
    compiler, so that the trial would cost a compilation and yield nothing.  The SRAM of the MLU is
    not here: it spills, see ``sram-fallback``.  ``proven`` is no parameter but the state of the
    run, set by the trial stage: the most bytes that a kernel needed which ran although they are
    more than the chip file grants.
    """

    name: ClassVar[str] = "capacity"
    stage: ClassVar[Stage] = "trial"
    hard: ClassVar[bool] = True

    scope: Scope
    proven: float = field(default=0.0, metadata=RUN_STATE)

    def with_proven(self, need: float) -> Capacity:
        """The rule for a run in which a kernel that needs ``need`` bytes has run."""
        return replace(self, proven=need)

    @property
    def backends(self) -> tuple[str, ...]:
        """The one backend that has the scope."""
        return (SCOPES[self.scope].backend,)

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Bytes of all copies against the scope's size."""
        size, fields = capacity(chip, self.scope)
        known = "the most that ran needs" if self.proven > size else "there are"
        return limit(
            f"{self.scope}_bytes",
            footprint(table, self.scope),
            max(size, self.proven),
            "B",
            reason=f"needs {{need}} B of {self.scope}, {known} {{have}} B",
            benefit=f"a compilation that fails for {{excess}} B of {self.scope}",
            basis=fields,
        )
