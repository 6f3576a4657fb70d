"""Pipelines deeper than the loop that they overlap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.rule import Finding
from pruner.scopes import scopes_of
from pruner.verdict import Stage


@dataclass(frozen=True)
class PipelineDepth:
    """No more stages in flight than the loop has steps, nor than ``max_depth`` (0: any number).

    Further copies hold memory and are never filled.  The depth is that of the software pipeline on
    a GPU, the most copies of a staged buffer elsewhere.
    """

    name: ClassVar[str] = "pipeline-depth"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm")
    hard: ClassVar[bool] = False

    max_depth: int = 0

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Stages against steps."""
        have = np.maximum(_steps(table), 1).astype(np.float64)
        if self.max_depth:
            have = np.minimum(have, float(self.max_depth))
        need = np.maximum(_depth(table), 1).astype(np.float64)
        return Finding(
            keep=need <= have,
            quantity="pipeline_depth",
            need=need,
            have=have,
            unit="stages",
            reason="keeps {need} stages in flight, {have} have something to do",
            benefit="a run whose further copies stay empty",
        )


def _steps(table: KernelTable) -> NDArray[np.int64]:
    steps = table["out_tiles"] * table["k_steps"]
    if table.backend != "gpu_sm":
        return steps
    return np.where(table["pipeline_extent"] > 0, table["pipeline_extent"], steps)


def _depth(table: KernelTable) -> NDArray[np.int64]:
    if table.backend == "gpu_sm":
        return table["pipeline_stages"]
    return reduce(np.maximum, [table[f"{s}_buffers"] for s in scopes_of(table.backend)])
