"""Decision values of which no completion has an allowed number of threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hwsim.chip import Chip
from hwsim.gpu_sm.chip import GpuChip
from pruner.rule import Finding
from pruner.task import Decision, Space
from pruner.verdict import Stage


@dataclass(frozen=True)
class ValueThreads:
    """A value goes when all its completions have too many, or too few, threads in a block.

    ``bound=most`` is the chip's limit, ``bound=least`` what the schedule's annotation demands.
    """

    name: ClassVar[str] = "value-threads"
    stage: ClassVar[Stage] = "task"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = True
    joint: ClassVar[bool] = True
    about: ClassVar[tuple[str, ...]] = ("threads",)

    bound: Literal["most", "least"]

    def spares(self, space: Space, decision: Decision, chip: Chip) -> bool:
        """Whether all values that are left can have an allowed number."""
        assert isinstance(chip, GpuChip)
        if self.bound == "most":
            return space.most_of_least("threads", decision) <= chip.max_threads_block
        return space.least_of_most("threads", decision) >= space.task.thread_floor

    def check(self, space: Space, decision: Decision, chip: Chip) -> Finding | None:
        """Least or most threads of each value against the bound."""
        assert isinstance(chip, GpuChip)
        if self.bound == "most":
            return _at_most(space, decision, float(chip.max_threads_block))
        return _at_least(space, decision, float(space.task.thread_floor))


def _at_most(space: Space, decision: Decision, have: float) -> Finding | None:
    need = space.least("threads", decision)
    if need is None:
        return None
    return Finding(
        keep=need <= have,
        quantity="threads",
        need=need,
        have=np.full(len(need), have),
        unit="threads",
        reason="has at least {need} threads in a block whatever the rest, {have} are allowed",
        benefit="every candidate with this value, none of which launches",
        basis=("max_threads_block",),
    )


def _at_least(space: Space, decision: Decision, floor: float) -> Finding | None:
    have = space.most("threads", decision)
    if have is None or not floor:
        return None
    return Finding(
        keep=have >= floor,
        quantity="threads",
        need=np.full(len(have), floor),
        have=have,
        unit="threads",
        reason="has at most {have} threads in a block whatever the rest, {need} are demanded",
        benefit="every candidate with this value, none of which TVM's verifier accepts",
    )
