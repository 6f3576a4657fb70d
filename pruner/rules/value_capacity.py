"""Decision values of which even the smallest completion does not fit a memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hwsim.chip import Chip
from pruner.rule import Finding, limit
from pruner.scopes import SCOPES, Scope, capacity
from pruner.task import Decision, Space
from pruner.verdict import Stage


@dataclass(frozen=True)
class ValueCapacity:
    """A value goes when the least that its completions can need of ``scope`` does not fit.

    The least follows from the values that the other decisions have left, so that one decision's
    loss can make another's values impossible.
    """

    name: ClassVar[str] = "value-capacity"
    stage: ClassVar[Stage] = "task"
    joint: ClassVar[bool] = True

    scope: Scope

    @property
    def backends(self) -> tuple[str, ...]:
        """The one backend that has the scope."""
        return (SCOPES[self.scope].backend,)

    @property
    def about(self) -> tuple[str, ...]:
        """Bytes of the scope."""
        return (f"{self.scope}_bytes",)

    @property
    def hard(self) -> bool:
        """The SRAM of the MLU spills; every other memory is a limit."""
        return self.scope != "sram"

    def spares(self, space: Space, decision: Decision, chip: Chip) -> bool:
        """Whether the least bytes of all values that are left fit."""
        return space.most_of_least(self.about[0], decision) <= capacity(chip, self.scope)[0]

    def check(self, space: Space, decision: Decision, chip: Chip) -> Finding | None:
        """Least bytes of each value against the scope's size."""
        quantity = self.about[0]
        least = space.least(quantity, decision)
        if least is None:
            return None
        have, fields = capacity(chip, self.scope)
        return limit(
            quantity,
            least,
            have,
            "B",
            reason=f"needs {{need}} B of {self.scope} or more, there are {{have}} B",
            benefit="every candidate with this value, none of which fits",
            basis=fields,
        )
