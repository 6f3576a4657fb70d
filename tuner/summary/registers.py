"""Register reuse on the GPU: which operands a thread loads once for several operations.

The **register tile** of a statement is the longest run of its innermost serial loops, virtual
threads included (TVM's InjectVirtualThread unrolls those around the statement itself), such that

* its iterations are unrolled: no more than the schedule's explicit unroll limit, or than
  ``IMPLICIT_UNROLL``, which nvcc unrolls by itself;
* the operands that have to stay live in it fit beside the accumulators into a thread's registers.

Inside it each distinct element is loaded once; each iteration outside loads all of them again.
Live are the distinct elements below the outermost loop of the tile that is no reduction: a
reduction loop around everything else replaces the operands step by step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.nest import Access, Digit, IntColumn, Statement
from tuner.summary.geometry import element_bytes, extents, footprint
from tuner.summary.roles import Kernel, serial

# LLVM unrolls fully up to a cost of 300 (UnrollThreshold at -O3, which NVPTX keeps); a
# multiply-accumulate with its loads and addresses costs about 5.
IMPLICIT_UNROLL = 64
THREAD_REGISTERS = 255  # CUDA C++ programming guide, registers of a thread
REGISTER_BYTES = 4


@dataclass(frozen=True)
class RegisterTile:
    """``loads[i]``: elements of read ``i`` that one thread loads over a block's life.

    ``operand_registers``: registers of the live operands.
    """

    loads: tuple[IntColumn, ...]
    operand_registers: IntColumn


def register_tile(kernel: Kernel, statement: Statement, accumulators: IntColumn) -> RegisterTile:
    """The register tile of one statement; ``accumulators`` are the registers already taken."""
    n = kernel.n
    digits = [*serial(statement), *(d for d in statement.digits if d.kind == "vthread")]
    limit = np.maximum(kernel.nest.unroll, IMPLICIT_UNROLL)
    virtual = [d for d in digits if d.kind == "vthread"]
    live = _registers(kernel, statement, virtual)
    loads = _loads(kernel, statement, digits, virtual)
    grows = np.ones(n, dtype=bool)
    for start in reversed(range(len(digits) - len(virtual))):
        tile = digits[start:]
        whole = _registers(kernel, statement, tile)
        spatial = (digits[start].extent > 1) & (not digits[start].reduction)
        wider = np.where(spatial, whole, live)
        fits = (extents(tile, n) <= limit) & (wider + accumulators <= THREAD_REGISTERS)
        grows = grows & (fits | (digits[start].extent == 1))
        live = np.where(grows, wider, live)
        longer = _loads(kernel, statement, digits, tile)
        loads = [np.where(grows, new, old) for new, old in zip(longer, loads, strict=True)]
    return RegisterTile(tuple(loads), live)


def _loads(
    kernel: Kernel, statement: Statement, digits: list[Digit], tile: list[Digit]
) -> list[NDArray[np.int64]]:
    outside = extents(digits[: len(digits) - len(tile)], kernel.n)
    return [
        outside * footprint(read, tile, kernel.buffer(read), kernel.n) for read in statement.reads
    ]


def _registers(kernel: Kernel, statement: Statement, tile: list[Digit]) -> IntColumn:
    """Registers of the distinct elements of all reads from memory."""
    total = np.zeros(kernel.n, dtype=np.int64)
    for read in statement.reads:
        if in_memory(kernel, read):
            buffer = kernel.buffer(read)
            size = footprint(read, tile, buffer, kernel.n) * element_bytes(buffer)
            total += np.ceil(size / REGISTER_BYTES).astype(np.int64)
    return total


def in_memory(kernel: Kernel, access: Access) -> bool:
    """Whether an access goes to shared or global memory and not to registers."""
    return kernel.scope(access).startswith(("shared", "global"))
