"""Decision values that leave a software-pipelined loop a single step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from pruner.rule import Finding
from pruner.task import Decision, Space
from pruner.verdict import Stage


@dataclass(frozen=True)
class ValuePipeline:
    """A value goes when the pipelined loop has fewer than ``min_steps`` steps whatever the rest.

    TVM's verifier refuses a pipeline over a loop of extent 1: there is nothing to overlap.
    """

    name: ClassVar[str] = "value-pipeline"
    stage: ClassVar[Stage] = "task"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = True
    joint: ClassVar[bool] = True
    about: ClassVar[tuple[str, ...]] = ("pipeline_extent",)

    min_steps: int = 2

    def spares(self, space: Space, decision: Decision, chip: Chip) -> bool:
        """Whether all values that are left can have steps enough."""
        return space.least_of_most("pipeline_extent", decision) >= self.min_steps

    def check(self, space: Space, decision: Decision, chip: Chip) -> Finding | None:
        """Most steps of each value against the least that TVM accepts."""
        have = space.most("pipeline_extent", decision)
        if have is None:
            return None
        return Finding(
            keep=have >= self.min_steps,
            quantity="pipeline_extent",
            need=np.full(len(have), float(self.min_steps)),
            have=have,
            unit="steps",
            reason="leaves a pipelined loop {have} step at most, TVM demands {need}",
            benefit="every candidate with this value, none of which TVM's verifier accepts",
        )
