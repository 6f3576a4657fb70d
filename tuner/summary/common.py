"""The columns that every backend has."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.nest import Digit, IntColumn, Statement
from tuner.summary.geometry import bits_of, extents, hull
from tuner.summary.roles import Kernel, serial
from tuner.summary.sums import sums

Columns = dict[str, NDArray[Any]]


def common(kernel: Kernel) -> Columns:
    """Work, widths, tiles, grids and sums of a kernel."""
    return {
        **_work(kernel),
        **_widths(kernel),
        **_tiles(kernel),
        **_loops(kernel),
        **sums(kernel.nest, kernel.statements),
    }


def executed(kernel: Kernel, what: str) -> NDArray[np.float64]:
    """Executed operations ``macs``, ``alu`` or ``special`` of the kernel."""
    total = np.zeros(kernel.n)
    for s in kernel.statements:
        if each := getattr(s.ops, what):
            total += each * extents(s.digits, kernel.n).astype(np.float64)
    return total


def _work(kernel: Kernel) -> Columns:
    """Useful work is shared out to the kernels of a candidate by what they execute."""
    nest, macs = kernel.nest, executed(kernel, "macs")
    kernels = [Kernel(nest, statements) for statements in nest.kernels]
    all_macs = sum(executed(k, "macs") for k in kernels)
    ops, all_ops = _ops(kernel), sum(_ops(k) for k in kernels)
    useful = nest.macs if nest.macs > 0 else nest.flops / 2
    return {
        "flops": nest.flops * ops / np.maximum(all_ops, 1),
        "macs": macs,
        "macs_useful": np.minimum(macs, useful * macs / np.maximum(all_macs, 1)),
        "alu_ops": executed(kernel, "alu"),
        "special_ops": executed(kernel, "special"),
    }


def _ops(kernel: Kernel) -> NDArray[np.float64]:
    ops = executed(kernel, "alu") + executed(kernel, "special")
    return 2 * executed(kernel, "macs") + ops


def _widths(kernel: Kernel) -> Columns:
    main = kernel.main
    source = main.reads[0] if main.reads else main.write
    outputs = [s.write for s in kernel.statements if kernel.scope(s.write) == "global"]
    widths = {
        "in_bits": source,
        "acc_bits": main.write,
        "out_bits": outputs[-1] if outputs else main.write,
    }
    intrin = main.intrin or (0, 0, 0)
    columns = {name: bits_of(kernel.buffer(a)) for name, a in widths.items()}
    columns |= {f"intrin_{axis}": size for axis, size in zip("mnk", intrin, strict=True)}
    return {name: np.full(kernel.n, value, dtype=np.int64) for name, value in columns.items()}


def _tiles(kernel: Kernel) -> Columns:
    main, n = kernel.main, kernel.n
    size = dict(zip("mnk", main.intrin or (1, 1, 1), strict=True))
    grid = kernel.grid_of(main)
    rounds = _rounds(kernel)
    outside = {d.name for d in (*grid, *rounds)}
    inside = [d for d in main.digits if d.name not in outside]
    reduce_length = kernel.extent(main.digits, "k") * size["k"]
    k_steps = _staged_steps(kernel, first=True)
    batch = kernel.extent(inside, "batch") if main.ops.macs else 1
    return {
        "tile_m": kernel.extent(inside, "m") * size["m"] * batch,
        "tile_n": kernel.extent(inside, "n") * size["n"],
        "tile_k": reduce_length // k_steps,
        "grid_m": kernel.extent(grid, "m"),
        "grid_n": kernel.extent(grid, "n"),
        "grid_batch": kernel.extent(grid, "batch"),
        "blocks": extents(_widest_grid(kernel), n),
        "out_tiles": extents(rounds, n),
        "k_steps": k_steps,
        "reduce_length": reduce_length,
        "reduce_inner": reduce_length // _staged_steps(kernel, first=False),
        "spatial_inner": _spatial_inner(kernel),
    }


def _widest_grid(kernel: Kernel) -> list[Digit]:
    """The grid of the statement that has most digits of it: all statements share one."""
    return max((kernel.grid_of(s) for s in kernel.statements), key=len)


def _rounds(kernel: Kernel) -> list[Digit]:
    """Serial spatial digits around both the main statement and the copy-out of its result."""
    out = kernel.readers(kernel.main.write.buffer)
    if not out:
        return []
    return [d for d in kernel.shared_digits(out[0]) if not d.reduction]


def _staged_steps(kernel: Kernel, *, first: bool) -> IntColumn:
    """Reduction steps between the copies into the outermost (else innermost) staging memory."""
    steps = np.ones(kernel.n, dtype=np.int64)
    for read in kernel.main.reads[:2]:
        chain = _copies(kernel, read.buffer)
        if chain:
            copy = chain[-1] if first else chain[0]
            around = [d for d in kernel.shared_digits(copy) if d.reduction]
            steps = np.maximum(steps, extents(around, kernel.n))
    return steps


def _copies(kernel: Kernel, buffer: str) -> list[Statement]:
    """The copies that bring an operand, the one next to the main statement first."""
    chain: list[Statement] = []
    while writers := [w for w in kernel.writers(buffer) if w.reads and w not in chain]:
        chain.append(writers[0])
        buffer = writers[0].reads[0].buffer
    return chain


def _spatial_inner(kernel: Kernel) -> IntColumn:
    """Extent along the output's last dimension inside the innermost reduction loop."""
    write, n = kernel.main.write, kernel.n
    length, inside = np.ones(n, dtype=np.int64), np.ones(n, dtype=bool)
    if not write.dims:
        return length
    last = len(write.dims) - 1
    for digit in reversed(serial(kernel.main)):
        inside = inside & ~(digit.reduction & (digit.extent > 1))
        moves = hull(write, [digit], last, n) > write.extent[last]
        length = np.where(inside & moves, length * digit.extent, length)
    return length * write.extent[last]


def _loops(kernel: Kernel) -> Columns:
    n = kernel.n
    lanes = [s.lanes for s in kernel.statements if s.lanes is not None]
    depth = [(d.extent > 1).astype(np.int64) for d in serial(kernel.main)]
    return {
        "vector_lanes": reduce(np.maximum, lanes, np.ones(n, dtype=np.int64)),
        "unroll": kernel.nest.unroll,
        "loop_depth": sum(depth, np.zeros(n, dtype=np.int64)),
        "statements": np.full(n, len(kernel.statements), dtype=np.int64),
    }
