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

from tuner.nest import Access, Digit, IntColumn, Statement
from tuner.summary.geometry import Region, element_bytes, extents
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
    digits = serial(statement)
    growing = _Growing(kernel, statement)
    limit = np.maximum(kernel.nest.unroll, IMPLICIT_UNROLL)
    around = [extents((), kernel.n)]
    for digit in digits:
        around.append(around[-1] * digit.extent)
    loads = [around[-1] * f.elements for f in growing.prints]
    live, grows = growing.registers(), np.ones(kernel.n, dtype=bool)
    for digit, outside in zip(reversed(digits), reversed(around[:-1]), strict=True):
        growing.add(digit)
        spatial = (digit.extent > 1) & (not digit.reduction)
        wider = np.where(spatial, growing.registers(), live)
        fits = (growing.iterations <= limit) & (wider + accumulators <= THREAD_REGISTERS)
        grows = grows & (fits | (digit.extent == 1))
        live = np.where(grows, wider, live)
        loads = [
            np.where(grows, outside * f.elements, old)
            for f, old in zip(growing.prints, loads, strict=True)
        ]
    return RegisterTile(tuple(loads), live)


class _Growing:
    """A register tile that takes in one loop after another, virtual threads first."""

    def __init__(self, kernel: Kernel, statement: Statement) -> None:
        self._n = kernel.n
        self.prints = [Region(r, kernel.buffer(r), kernel.n) for r in statement.reads]
        self._loaded = [f for f in self.prints if in_memory(kernel, f.access)]
        self.iterations = extents((), kernel.n)
        for digit in statement.digits:
            if digit.kind == "vthread":
                self.add(digit)

    def add(self, digit: Digit) -> None:
        self.iterations = self.iterations * digit.extent
        for f in self.prints:
            f.grow((digit,))

    def registers(self) -> IntColumn:
        """Registers of the distinct elements of all reads from memory."""
        total = np.zeros(self._n, dtype=np.int64)
        for f in self._loaded:
            size = np.ceil(f.elements * element_bytes(f.buffer) / REGISTER_BYTES)
            total += size.astype(np.int64)
        return total


def in_memory(kernel: Kernel, access: Access) -> bool:
    """Whether an access goes to shared or global memory and not to registers."""
    return kernel.scope(access).startswith(("shared", "global"))
