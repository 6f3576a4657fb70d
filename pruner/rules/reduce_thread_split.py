"""Reductions too short to be worth splitting over threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from pruner.rule import Finding
from pruner.task import Decision, Space
from pruner.verdict import Stage


@dataclass(frozen=True)
class ReduceThreadSplit:
    """A reduction of at most ``max_length`` elements is not split over threads.

    Combining the threads' partial results then costs more than the threads save.  ``max_length`` 0
    takes the chip's ``rules.min_thread_reduction``.
    """

    name: ClassVar[str] = "reduce-thread-split"
    stage: ClassVar[Stage] = "task"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm")
    hard: ClassVar[bool] = False
    joint: ClassVar[bool] = False

    max_length: int = 0

    def check(self, space: Space, decision: Decision, chip: Chip) -> Finding | None:
        """Threads that the reduction is split over against 1 (short) or its length (long)."""
        axis = decision.axis
        if axis is None or not axis.reduction or "thread" not in decision.roles:
            return None
        longest = self.max_length or chip.rules.min_thread_reduction
        parts = [i for i, role in enumerate(decision.roles) if role == "thread"]
        need = decision.values[:, parts].prod(axis=1).astype(np.float64)
        short = axis.length <= longest
        have = np.ones(len(need)) if short else need
        return Finding(
            keep=need <= have,
            quantity="reduction_threads",
            need=need,
            have=have,
            unit="threads",
            reason=f"splits a reduction of {axis.length} over {{need}} threads,"
            f" up to {longest} elements it stays in one",
            benefit="every candidate with this split",
            basis=() if self.max_length else ("rules.min_thread_reduction",),
        )
