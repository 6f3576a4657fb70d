"""Backend ``gpu_sm``: the columns of a CUDA kernel."""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tuner.nest import Buffer, IntColumn, Statement
from tuner.summary.arena import Lifetime, arena_bytes
from tuner.summary.common import Columns, common
from tuner.summary.geometry import element_bytes, elements, extents, of_kinds
from tuner.summary.gpu_rows import lost_rows
from tuner.summary.gpu_sync import barriers
from tuner.summary.gpu_traffic import movements
from tuner.summary.registers import REGISTER_BYTES, register_tile
from tuner.summary.roles import Kernel, threads_of
from tuner.summary.streams import stream_columns

WARP = 32
_FRAGMENTS = ("wmma.matrix_a", "wmma.matrix_b")


def columns(kernel: Kernel) -> Columns:
    """All columns of one kernel."""
    threads = thread_count(kernel)
    accumulators = _accumulators(kernel)
    moved = movements(kernel, threads, accumulators)
    return {
        **common(kernel),
        **stream_columns(moved.movements, "global"),
        **_annotations(kernel),
        "threads": threads,
        "vthreads": extents(of_kinds(kernel.main, "vthread"), kernel.n),
        "shared_bytes": shared_bytes(kernel),
        "shared_static": np.full(kernel.n, bool(_buffers(kernel, "shared")), dtype=np.int64),
        "acc_regs": accumulators,
        "operand_regs": _operands(kernel, accumulators),
        "barriers": barriers(kernel, threads),
        "tensor_core": np.full(kernel.n, kernel.on_tensor_cores, dtype=np.int64),
        "ramp_lanes": moved.ramp_lanes,
        "lost_rows": lost_rows(kernel),
        "code_macs": _straight_line(kernel),
        "vector_bytes": _vector_bytes(kernel),
    }


def thread_count(kernel: Kernel) -> IntColumn:
    """Threads of a block: threadIdx extents, times a warp where tensor-core calls are one warp's.

    Tensor-core sketches bind threadIdx.y to warps and leave threadIdx.x to the intrinsics.
    """
    widest = np.ones(kernel.n, dtype=np.int64)
    bound = False
    for s in kernel.statements:
        widest = np.maximum(widest, extents(threads_of(s), kernel.n))
        bound |= any(d.kind == "threadIdx.x" for d in s.digits)
    return widest * WARP if kernel.on_tensor_cores and not bound else widest


def _buffers(kernel: Kernel, *scopes: str) -> list[Buffer]:
    used = (a for s in kernel.statements for a in (*s.reads, s.write))
    names = dict.fromkeys(a.buffer for a in used)
    return [b for name in names if (b := kernel.nest.buffers[name]).scope in scopes]


def _stages(kernel: Kernel, buffer: Buffer) -> IntColumn:
    stages = np.ones(kernel.n, dtype=np.int64)
    for s in kernel.statements:
        if s.write.buffer == buffer.name and s.stages is not None:
            stages = np.maximum(stages, s.stages)
    return stages


def _size(kernel: Kernel, buffer: Buffer) -> NDArray[np.float64]:
    size = elements(buffer, kernel.n) * _stages(kernel, buffer)
    return (size * element_bytes(buffer)).astype(np.float64)


def shared_bytes(kernel: Kernel) -> NDArray[np.float64]:
    """Static shared buffers all count; dynamic ones are merged into one arena.

    A buffer is alive from the first to the last statement that touches it.
    """
    static = sum((_size(kernel, b) for b in _buffers(kernel, "shared")), np.zeros(kernel.n))
    dynamic = [
        Lifetime(_size(kernel, b).astype(np.int64), _life(kernel, b), b.dtype)
        for b in _buffers(kernel, "shared.dyn")
    ]
    return (static + arena_bytes(dynamic, kernel.n)).astype(np.float64)


def _life(kernel: Kernel, buffer: Buffer) -> range:
    users = [
        i
        for i, s in enumerate(kernel.statements)
        if any(a.buffer == buffer.name for a in (*s.reads, s.write))
    ]
    return range(users[0], users[-1] + 1)


def _accumulators(kernel: Kernel) -> IntColumn:
    """Registers of a thread's local buffers and of its share of accumulator fragments."""
    total = np.zeros(kernel.n)
    for b in _buffers(kernel, "local", "wmma.accumulator"):
        total += _size(kernel, b) * _copies(kernel, b)
    return np.ceil(total / REGISTER_BYTES).astype(np.int64)


def _copies(kernel: Kernel, buffer: Buffer) -> NDArray[np.float64]:
    """Virtual threads have their own registers; a fragment is spread over the lanes of a warp."""
    if buffer.scope != "local":
        return np.full(kernel.n, 1 / WARP)
    writers = [s for s in kernel.statements if s.write.buffer == buffer.name]
    virtual = [extents(of_kinds(s, "vthread"), kernel.n) for s in writers]
    return reduce(np.maximum, virtual, np.ones(kernel.n))


def _operands(kernel: Kernel, accumulators: IntColumn) -> IntColumn:
    """Registers of operand fragments, or of the operands that the register tile keeps live."""
    fragments = sum((_size(kernel, b) for b in _buffers(kernel, *_FRAGMENTS)), np.zeros(kernel.n))
    if kernel.on_tensor_cores:
        return np.ceil(fragments / WARP / REGISTER_BYTES).astype(np.int64)
    return register_tile(kernel, kernel.main, accumulators).operand_registers


def _annotations(kernel: Kernel) -> Columns:
    """What TVM's VerifyGPUCode looks at besides sizes."""
    n = kernel.n
    bounds = [s.thread_bounds for s in kernel.statements if any(s.thread_bounds)]
    extent = np.zeros(n, dtype=np.int64)
    stages = np.ones(n, dtype=np.int64)
    for s in kernel.statements:
        if s.pipeline_extent is not None:
            known = (extent == 0) | ((s.pipeline_extent > 0) & (s.pipeline_extent < extent))
            extent = np.where(known, s.pipeline_extent, extent)
        if s.stages is not None:
            stages = np.maximum(stages, s.stages)
    return {
        "thread_floor": np.full(n, max((low for low, _ in bounds), default=0), dtype=np.int64),
        "thread_ceiling": np.full(n, min((h for _, h in bounds), default=0), dtype=np.int64),
        "pipeline_extent": extent,
        "pipeline_stages": stages,
    }


def _vector_bytes(kernel: Kernel) -> NDArray[np.float64]:
    widest = np.zeros(kernel.n)
    for s in kernel.statements:
        if s.lanes is not None:
            size = max(element_bytes(kernel.buffer(a)) for a in (*s.reads, s.write))
            widest = np.maximum(widest, np.where(s.lanes > 1, s.lanes * size, 0))
    return widest


def _straight_line(kernel: Kernel) -> IntColumn:
    """MACs of a thread where all its loops are unrolled, else 0."""
    per_thread = _thread_macs(kernel.main, kernel.n)
    return np.where(per_thread <= kernel.nest.unroll, per_thread, 0)


def _thread_macs(statement: Statement, n: int) -> IntColumn:
    own = [d for d in statement.digits if not d.kind.startswith(("blockIdx", "threadIdx"))]
    return extents(own, n) * statement.ops.macs
