"""What TVM's ``VerifyGPUCode`` would reject, known before the candidate is replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hwsim.chip import Chip
from hwsim.gpu_sm.chip import GpuChip
from hwsim.table import KernelTable
from pruner.rule import Finding, FloatColumn
from pruner.scopes import capacity, footprint
from pruner.verdict import Stage

INDEX_BYTES = 4  # an access whose lanes are no neighbours carries a vector of 32-bit indices
MAX_VECTOR_BYTES = 16.0  # VerifyGPUCode's max_vector_bytes for CUDA

Limit = Literal["threads", "thread_floor", "shared", "pipeline", "ramp", "vector"]
Sides = tuple[FloatColumn, FloatColumn]  # need and have

LIMITS: tuple[Limit, ...] = ("threads", "thread_floor", "shared", "pipeline", "ramp", "vector")

_WORDS = {  # unit, reason, fields of the chip
    "threads": ("threads", "{need} threads in a block, {have} are allowed", ("max_threads_block",)),
    "thread_floor": (
        "threads",
        "the schedule demands {need} threads in a block, it has {have}",
        (),
    ),
    "shared": ("B", "{need} B of shared memory, {have} B are allowed", ("shared_block_kib",)),
    "pipeline": ("steps", "a pipelined loop runs {have} step, TVM demands {need}", ()),
    "ramp": ("B", "a strided vector access needs {need} B of indices, {have} B are allowed", ()),
    "vector": ("B", "a vector access of {need} B, TVM allows {have} B", ()),
    "all": ("conditions", "breaks {need} of the verifier's conditions", ()),
}


@dataclass(frozen=True)
class TvmVerifier:
    """TVM's own verifier of GPU kernels, to the letter; ``limit`` picks one of its conditions.

    TVM drops these candidates after 5 ms of replaying; here they cost microseconds.
    """

    name: ClassVar[str] = "tvm-verifier"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = True

    limit: Literal["all", "threads", "thread_floor", "shared", "pipeline", "ramp", "vector"] = "all"

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Keep where what the kernel needs is no more than what TVM allows."""
        assert isinstance(chip, GpuChip)
        if self.limit == "all":
            broken = [need > have for need, have in (_sides(i, table, chip) for i in LIMITS)]
            need, have = np.asarray(np.sum(broken, axis=0), np.float64), np.zeros(table.n)
        else:
            need, have = _sides(self.limit, table, chip)
        unit, reason, fields = _WORDS[self.limit]
        return Finding(
            keep=need <= have,
            quantity=f"verifier_{self.limit}",
            need=need,
            have=have,
            unit=unit,
            reason=reason,
            benefit="5 ms of replaying a candidate that TVM's verifier drops",
            basis=fields,
        )


def _sides(limit: Limit, table: KernelTable, chip: GpuChip) -> Sides:
    threads = table["threads"].astype(np.float64)
    if limit == "threads":
        ceiling = np.where(table["thread_ceiling"] > 0, table["thread_ceiling"], np.inf)
        return threads, np.minimum(ceiling, float(chip.max_threads_block))
    if limit == "thread_floor":
        return table["thread_floor"].astype(np.float64), threads
    if limit == "shared":
        return footprint(table, "shared"), np.full(table.n, capacity(chip, "shared")[0])
    if limit == "pipeline":
        extent = table["pipeline_extent"].astype(np.float64)
        return np.where(extent > 0, 2.0, 0.0), extent
    if limit == "vector":
        return table["vector_bytes"], np.full(table.n, MAX_VECTOR_BYTES)
    ramp = table["ramp_lanes"].astype(np.float64)
    return ramp * INDEX_BYTES, np.full(table.n, MAX_VECTOR_BYTES)
