"""Memory accesses of a CUDA kernel, stream by stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tuner.nest import Access, Digit, IntColumn, Statement
from tuner.summary.geometry import (
    Region,
    Walk,
    element_bytes,
    extents,
    product,
    quasi_affine,
    strides,
    walk,
)
from tuner.summary.registers import in_memory, register_tile
from tuner.summary.roles import Kernel, serial, threads_of
from tuner.summary.streams import Movement

WARP = 32
_WIDEST_BYTES = 16  # of one access instruction of a thread


@dataclass(frozen=True)
class Moved:
    """All movements, and the widest vector access whose lanes are no neighbours (0: none)."""

    movements: tuple[Movement, ...]
    ramp_lanes: IntColumn


def movements(kernel: Kernel, threads: IntColumn, accumulators: IntColumn) -> Moved:
    """Every access of every statement that leaves the registers.

    A copy between global and shared memory is one movement, seen from global memory; a tensor-core
    load or store is a matrix of rows; all else is one access of each thread.
    """
    found: list[Movement] = []
    ramp = np.zeros(kernel.n, dtype=np.int64)
    for s in kernel.statements:
        if s.cooperative:
            moved, lanes = _cooperative(kernel, s, threads)
            found.extend(moved)
            ramp = np.maximum(ramp, lanes)
        elif np.any(product(s.write.extent, 1) > 1):
            found.extend(_fragments(kernel, s, threads))
        else:
            found.extend(_threads(kernel, s, accumulators))
    return Moved(tuple(found), ramp)


def _level(kernel: Kernel, access: Access) -> str:
    scope = kernel.scope(access).partition(".")[0]
    return scope if scope in ("global", "shared") else "local"


def _cooperative(
    kernel: Kernel, s: Statement, threads: IntColumn
) -> tuple[list[Movement], IntColumn]:
    """A tile that all threads copy; thread ``t`` takes elements ``t * lanes`` and following.

    Between global and shared memory it is one stream; what else an epilogue reads on the way (a
    bias) comes straight to registers.
    """
    n = kernel.n
    tile = [d for d in s.digits if d.kind == "tile"]
    lanes = np.ones(n, dtype=np.int64) if s.lanes is None else s.lanes
    size, times = extents(tile, n), extents(serial(s), n)
    count = times * -(-size // (threads * lanes))
    read, extra, inward = _sides(kernel, s)
    outer, inner = (read, s.write) if inward else (s.write, read)
    sides = [walk(access, tile, kernel.buffer(access), n) for access in (outer, inner)]
    spread = _spread(kernel, outer, sides[0], lanes)
    if inward:
        steps = _spread(kernel, inner, sides[1], lanes)
        spread |= {f"store_{k}": v for k, v in steps.items() if k.startswith("stride")}
    stream = f"{kernel.label(read)}_global_shared" if inward else "c_shared_global"
    found = [_movement(kernel, s, stream, outer, tile, count, times * size, spread)]
    for access in extra:
        across = walk(access, tile, kernel.buffer(access), n)
        spread = _spread(kernel, access, across, lanes)
        stream = f"{kernel.label(access)}_{_level(kernel, access)}_local"
        found.append(_movement(kernel, s, stream, access, tile, count, times * size, spread))
    ramp = np.zeros(n, dtype=bool)
    for access, side in zip((outer, inner), sides, strict=True):
        stride = strides(kernel.buffer(access), n)
        ramp |= _strided(kernel, side, stride, threads, lanes, size) & ~quasi_affine(access, n)
    return found, np.where(ramp, lanes, 0)


def _sides(kernel: Kernel, s: Statement) -> tuple[Access, list[Access], bool]:
    """The read that a cooperative copy is about, its other reads, and whether it goes inwards."""
    inward = _level(kernel, s.write) == "shared"
    source = "global" if inward else "shared"
    read = next((r for r in s.reads if _level(kernel, r) == source), s.reads[0])
    return read, [r for r in s.reads if r is not read and in_memory(kernel, r)], inward


def _strided(
    kernel: Kernel,
    side: Walk,
    stride: Sequence[IntColumn],
    threads: IntColumn,
    lanes: IntColumn,
    size: IntColumn,
) -> NDArray[np.bool_]:
    """Whether TVM's verifier sees a vector access whose lanes are no neighbours in memory.

    It looks at indices of the form ``Ramp(base, stride, lanes)`` with a stride other than 1.  An
    index into a tile of several runs, ``(step * T + y * X + x) * lanes % run`` over the threads
    ``T`` = (y, x) of a block, only gets that form where at most one of the three terms is left in
    the modulus or where they fill a run exactly; otherwise the verifier lets it pass.  A run over
    several dimensions of the buffer (of ``stride``) has a modulus for each: one row of threads that
    fills all but the outermost one leaves the step alone in that.
    """
    warp_rows = kernel.on_tensor_cores
    fast = np.minimum(threads, WARP) if warp_rows else threads
    whole = side.run * side.step1
    below = reduce(np.maximum, (np.where(w < whole, w, 0) for w in stride), 0 * whole)
    trip = threads * lanes
    filled = (trip == side.run) | ((threads == fast) & (trip * side.step1 == below))
    simple = (fast * lanes % side.run == 0) | filled | (side.run >= size)
    out: NDArray[np.bool_] = (lanes > 1) & (side.run % lanes == 0) & simple & (side.step1 != 1)
    return out


def _fragments(kernel: Kernel, s: Statement, threads: IntColumn) -> Iterator[Movement]:
    """Loads and stores of matrix fragments by warps: 16 bytes of a row a lane."""
    n = kernel.n
    for access, stream in _moves(kernel, s):
        buffer = kernel.buffer(access)
        lanes = np.full(n, int(_WIDEST_BYTES / element_bytes(buffer)), dtype=np.int64)
        size = product(access.extent, n)
        times = extents(serial(s), n)
        count = times * -(-size // (WARP * lanes))
        rows = Walk(access.extent[-1], np.ones(n, np.int64), _row_step(kernel, access))
        spread = _spread(kernel, access, rows, lanes)
        moved = times * size * (threads // WARP)
        yield _movement(kernel, s, stream, access, _own(s), count, moved, spread)


def _row_step(kernel: Kernel, access: Access) -> IntColumn:
    buffer = kernel.buffer(access)
    pad = 0 if buffer.row_pad is None else buffer.row_pad
    return buffer.shape[-1] + pad


def _threads(kernel: Kernel, s: Statement, accumulators: IntColumn) -> Iterator[Movement]:
    """One access of each thread: reads through the register tile, writes once an element."""
    n = kernel.n
    tile = register_tile(kernel, s, accumulators)
    loads = dict(zip((r.buffer for r in s.reads), tile.loads, strict=True))
    threads = threads_of(s)
    lanes = np.ones(n, dtype=np.int64) if s.lanes is None else s.lanes
    for access, stream in _moves(kernel, s):
        taken = loads[access.buffer] if access is not s.write else _stores(s, n)
        across = walk(access, threads, kernel.buffer(access), n)
        spread = _spread(kernel, access, across, lanes, per_thread=True)
        count = -(-taken // lanes)
        moved = taken * extents(threads, n)
        yield _movement(kernel, s, stream, access, _own(s), count, moved, spread)


def _own(s: Statement) -> list[Digit]:
    """The digits of one block."""
    return [d for d in s.digits if not d.kind.startswith("blockIdx")]


def _stores(s: Statement, n: int) -> IntColumn:
    """Elements that a thread writes: once after a reduction."""
    own = [d for d in s.digits if not d.kind.startswith(("blockIdx", "threadIdx"))]
    return extents([d for d in own if not d.reduction], n)


def _moves(kernel: Kernel, s: Statement) -> Iterator[tuple[Access, str]]:
    """Accesses of a statement that leave the registers, with their streams."""
    to = _level(kernel, s.write)
    staged = to == "shared" and s.role == "copy"
    for read in s.reads:
        if in_memory(kernel, read):
            source = _level(kernel, read)
            direct = staged and source == "global"
            if not (source == "shared" and to == "global" and s.role == "copy"):
                yield read, f"{kernel.label(read)}_{source}_{'shared' if direct else 'local'}"
    sources = {_level(kernel, r) for r in s.reads}
    if to == "global":
        through = "shared" if s.role == "copy" and sources == {"shared"} else "local"
        yield s.write, f"c_{through}_global"
    elif to == "shared" and not (staged and sources == {"global"}):
        yield s.write, "c_local_shared"


def _spread(
    kernel: Kernel, access: Access, across: Walk, lanes: IntColumn, *, per_thread: bool = False
) -> dict[str, NDArray[np.generic]]:
    """Lanes, element size, thread run and strides of one access instruction.

    ``across`` walks elements that threads take ``lanes`` at a time, or (``per_thread``) threads.
    """
    size = element_bytes(kernel.buffer(access))
    taken = np.ones_like(lanes) if per_thread else lanes
    run_threads = np.maximum(across.run // taken, 1)
    beyond = np.where(across.run < taken, taken // np.maximum(across.run, 1), 1)
    return {
        "lanes": lanes,
        "elem_bytes": np.full(kernel.n, max(int(size), 1), dtype=np.int64),
        "thread_run": run_threads,
        "stride1_bytes": np.where(across.run > taken, across.step1 * taken * size, 0),
        "stride2_bytes": across.step2 * beyond * size,
    }


def _movement(
    kernel: Kernel,
    s: Statement,
    stream: str,
    access: Access,
    together: Iterable[Digit],
    count: IntColumn,
    block_elements: IntColumn,
    spread: dict[str, NDArray[np.generic]],
) -> Movement:
    """One movement; contiguous runs are those of the region that the digits ``together`` span.

    For a staged tile that is one transfer, for accesses of single threads all that the block
    touches: what one instruction leaves of a line, the next ones find in the cache.
    """
    buffer, n = kernel.buffer(access), kernel.n
    size = element_bytes(buffer)
    names = {d.name for d in together}
    region = Region(access, buffer, n).grow(d for d in s.digits if d.name in names)
    run_bytes = region.run * size
    region.grow(d for d in s.digits if d.name not in names)
    unique = (region.elements * size).astype(np.float64)
    moved = block_elements.astype(np.float64) * size
    return Movement(stream, buffer.name, count, moved, unique, {"run_bytes": run_bytes, **spread})
