"""What one block of a kernel executes: instructions of its warps, by kind.

A warp instruction counts once for its 32 threads.  Where the table gives the amounts of a whole
kernel, they are spread evenly over blocks and threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwsim.gpu_sm.access import Access
from hwsim.gpu_sm.chip import WARP, GpuChip
from hwsim.gpu_sm.occupancy import Occupancy
from hwsim.rows import Rows, total, where

Floats = NDArray[np.float64]

MMA_MACS = 16 * 8 * 16  # of one warp-wide tensor-core instruction (m16n8k16)
_MMA_REGISTERS = 4  # accumulators that it updates in each thread


@dataclass(frozen=True)
class Work:
    """Warp instructions of one block, columns ``(n,)``."""

    fma: Floats
    mma: Floats
    fma_macs: Floats  # thread-level MACs of the kernel outside the tensor cores
    integer: Floats  # element operations, index arithmetic, loop control
    special: Floats
    memory: Floats  # accesses of every kind, spills included
    staging: Floats  # of ``integer`` and ``memory``, what fills shared memory
    spill: Floats  # local-memory accesses of spilled registers
    shared_wavefronts: Floats  # operands read from shared memory
    stage_wavefronts: Floats  # staged tiles written to shared memory
    iterations: Floats  # of a thread's innermost loop: each updates every accumulator once
    warps: Floats
    blocks: Floats

    @cached_property
    def instructions(self) -> Floats:
        """All warp instructions of a block."""
        return total([self.fma, self.mma, self.integer, self.special, self.memory])


def work_of(
    rows: Rows,
    chip: GpuChip,
    occupancy: Occupancy,
    access: Mapping[str, Access],
    stores: Mapping[str, Access],
    requests: Mapping[str, Floats],
) -> Work:
    """Instruction counts of every row; the mappings hold the streams that occur."""
    warps, blocks = occupancy.warps, rows.at_least_one("blocks")
    tensor = rows["tensor_core"] > 0
    macs = rows["macs"] / blocks
    thread_macs = where(tensor, 0, macs / rows.at_least_one("threads"))
    acc = rows.at_least_one("acc_regs")
    mma = where(tensor, macs / MMA_MACS, 0)
    iterations = thread_macs / acc
    if mma.any():
        iterations = iterations + mma / warps / np.maximum(acc / _MMA_REGISTERS, 1)
    dot = where(rows["intrin_k"] > 1, rows["intrin_k"], 1)  # dp4a does 4 MACs at once
    staged = total(r for s, r in requests.items() if s.endswith("_global_shared"))
    spill = np.zeros(1)
    if occupancy.spill_registers.any():
        spill = 2 * occupancy.spill_registers * iterations * warps
    index = chip.model.index_ops * staged
    if rows.occurs("stage_loops"):
        index = index + chip.model.stage_loop_ops * rows["stage_loops"] * warps
    return Work(
        fma=thread_macs / dot * warps,
        fma_macs=where(tensor, 0, rows["macs"]),
        mma=mma,
        integer=index + _loose_ops(rows, chip, requests, iterations * warps),
        special=_warp_instructions(rows, "special_ops"),
        memory=total([*requests.values(), staged, spill]),
        staging=index + 2 * staged,
        spill=spill,
        shared_wavefronts=_operand_wavefronts(requests, access),
        stage_wavefronts=total(requests[s] * a.wavefronts for s, a in stores.items()),
        iterations=iterations,
        warps=warps,
        blocks=blocks,
    )


def _warp_instructions(rows: Rows, ops: str) -> Floats:
    """Instructions of a block for element operations of the kernel."""
    if not rows.occurs(ops):
        return np.zeros(1)
    return np.asarray(rows[ops] / rows.at_least_one("blocks") / WARP)


def _loose_ops(
    rows: Rows, chip: GpuChip, requests: Mapping[str, Floats], iterations: Floats
) -> Floats:
    """Integer instructions outside staging: element operations, addresses, loop control."""
    direct = [s for s in requests if "global" in s and not s.endswith("_global_shared")]
    loads = [s for s in direct if s.endswith("_global_local")]
    unrolled = np.maximum(rows["unroll"], chip.model.auto_unroll)
    copies = np.maximum(unrolled / rows.at_least_one("acc_regs"), 1)
    parts = [_warp_instructions(rows, "alu_ops"), total(requests[s] for s in direct)]
    if rows.occurs("address_ops"):
        parts.append(rows["address_ops"] * total(requests[s] for s in loads))
    return total([*parts, chip.model.loop_ops * iterations / copies])


def _operand_wavefronts(requests: Mapping[str, Floats], access: Mapping[str, Access]) -> Floats:
    streams = [s for s in requests if "shared" in s and not s.endswith("_global_shared")]
    return total(requests[s] * access[s].wavefronts for s in streams)
