"""Decision values of which no completion has threads enough and shared memory enough at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.gpu_sm.chip import GpuChip
from pruner.completions import all_suit, least_together
from pruner.rule import Finding
from pruner.scopes import capacity
from pruner.task import Decision, Space
from pruner.verdict import Stage


@dataclass(frozen=True)
class ValueCompletion:
    """A value goes when every completion with an allowed number of threads overflows shared memory.

    Each limit alone can be met, by completions that break the other one: threads that the floor
    demands take tiles, and tiles take memory.
    """

    name: ClassVar[str] = "value-completion"
    stage: ClassVar[Stage] = "task"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = True
    joint: ClassVar[bool] = True
    about: ClassVar[tuple[str, ...]] = ("shared_bytes", "threads")

    def spares(self, space: Space, decision: Decision, chip: Chip) -> bool:
        """Whether all values that are left have a completion with few threads that fits."""
        have, _ = capacity(chip, "shared")
        return all_suit(space, decision, "shared_bytes", "threads", _bounds(space, chip), have)

    def check(self, space: Space, decision: Decision, chip: Chip) -> Finding | None:
        """Least shared memory among completions within the bounds of threads, against its size."""
        if not space.task.thread_floor:
            return None
        bounds = _bounds(space, chip)
        need = least_together(space, decision, "shared_bytes", "threads", bounds)
        if need is None:
            return None
        have, fields = capacity(chip, "shared")
        return Finding(
            keep=need <= have,
            quantity="shared_bytes",
            need=need,
            have=np.full(len(need), have),
            unit="B",
            reason=f"no completion with {bounds[0]:.0f} to {bounds[1]:.0f} threads needs less than"
            " {need} B of shared memory, there are {have} B",
            benefit="every candidate with this value, none of which fits",
            basis=(*fields, "max_threads_block"),
        )


def _bounds(space: Space, chip: Chip) -> tuple[float, float]:
    """Of the threads of a block."""
    assert isinstance(chip, GpuChip)
    return float(space.task.thread_floor), float(chip.max_threads_block)
