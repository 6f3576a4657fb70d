"""What TVM's ``VerifyGPUCode`` would reject, known before the candidate is replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hwsim.chip import Chip
from hwsim.gpu_sm.chip import GpuChip
from hwsim.table import KernelTable
from pruner.rule import Finding, FloatColumn
from pruner.verdict import Stage

INDEX_BYTES = 4  # an access whose lanes are no neighbours carries a vector of 32-bit indices
MAX_VECTOR_BYTES = 16  # VerifyGPUCode's max_vector_bytes for CUDA

_UNITS = {"threads": "threads", "thread_floor": "threads", "pipeline": "steps", "ramp": "B"}
_REASONS = {
    "threads": "{need} threads in a block, {have} are allowed",
    "thread_floor": "the schedule demands {need} threads in a block, it has {have}",
    "pipeline": "a software-pipelined loop runs {have} step, TVM demands {need}",
    "ramp": "a vector access of strided elements needs {need} B of indices, {have} B are allowed",
}


@dataclass(frozen=True)
class VerifyGpu:
    """One condition of TVM's own verifier of GPU kernels, to the letter.

    Together with ``capacity{scope=shared}`` the four limits are all of ``VerifyGPUCode`` as the
    CUDA postprocessor calls it.  TVM drops these candidates after 5 ms of replaying; here they cost
    microseconds.
    """

    name: ClassVar[str] = "verify-gpu"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = True

    limit: Literal["threads", "thread_floor", "pipeline", "ramp"]

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Keep where what the kernel needs is no more than what TVM allows."""
        assert isinstance(chip, GpuChip)
        need, have = _sides(self.limit, table, chip)
        return Finding(
            keep=need <= have,
            quantity=self.limit,
            need=need,
            have=have,
            unit=_UNITS[self.limit],
            reason=_REASONS[self.limit],
            benefit="5 ms of replaying a candidate that TVM's verifier drops",
            basis=("max_threads_block",) if self.limit == "threads" else (),
        )


def _sides(limit: str, table: KernelTable, chip: GpuChip) -> tuple[FloatColumn, FloatColumn]:
    """``(need, have)`` of one condition."""
    threads = table["threads"].astype(np.float64)
    if limit == "threads":
        ceiling = np.where(table["thread_ceiling"] > 0, table["thread_ceiling"], np.inf)
        return threads, np.minimum(ceiling, float(chip.max_threads_block))
    if limit == "thread_floor":
        return table["thread_floor"].astype(np.float64), threads
    if limit == "pipeline":
        extent = table["pipeline_extent"].astype(np.float64)
        return np.where(extent > 0, 2.0, 0.0), extent
    ramp = table["ramp_lanes"].astype(np.float64)
    return ramp * INDEX_BYTES, np.full(table.n, float(MAX_VECTOR_BYTES))
