"""Kernel tables of row-wise vector kernels: softmax, layer norm, elementwise operations.

A block takes ``rows_per_block`` rows and passes over them ``reads`` times, keeping nothing on chip
between passes but what the caches hold; it writes each element once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hwsim.table import KernelTable

Floats = NDArray[np.float64]


def rowwise(
    rows: ArrayLike,
    columns: ArrayLike,
    threads: ArrayLike,
    *,
    rows_per_block: ArrayLike = 1,
    reads: ArrayLike = 1,
    inputs: int = 1,
    lanes: ArrayLike = 4,
    alu_ops: float = 1.0,
    special_ops: float = 0.0,
    thread_ops: float = 0.0,
    bits: int = 32,
) -> KernelTable:
    """Table of kernels over ``(rows, columns)`` arrays; arguments broadcast to ``(n,)``.

    ``reads``: passes over the inputs; ``inputs``: arrays read in each pass; ``lanes``: elements of
    one access; ``alu_ops`` and ``special_ops`` an element, ``thread_ops`` more of each thread
    (reductions across the block).
    """
    r, c, t, per, passes, width = (
        np.asarray(a, np.float64)
        for a in np.broadcast_arrays(
            *(np.atleast_1d(a) for a in (rows, columns, threads, rows_per_block, reads, lanes))
        )
    )
    size, elements = bits / 8, r * c
    blocks = np.ceil(r / per)
    mine = per * c / (t * width)  # accesses of a thread in one pass
    out: dict[str, ArrayLike] = {
        "flops": elements * (alu_ops + special_ops),
        "alu_ops": elements * alu_ops + blocks * t * thread_ops,
        "special_ops": elements * special_ops, "blocks": blocks, "grid_m": blocks,
        "threads": t, "tile_m": per, "tile_n": c, "vector_lanes": width,
        "in_bits": bits, "out_bits": bits, "barriers": 2 * (passes - 1),
        "acc_regs": width, "operand_regs": 2 * width, "reduce_length": np.where(passes > 1, c, 1),
    }  # fmt: skip
    out |= _access("x_global_local", np.ceil(mine) * passes * inputs, mine, t, width, size)
    out |= _access("c_local_global", np.ceil(mine), mine, t, width, size)
    out["x_global_local_run_bytes"] = out["c_local_global_run_bytes"] = size * c
    out["x_global_local_unique_bytes"] = elements * size * inputs
    out["c_local_global_unique_bytes"] = elements * size
    return KernelTable.of("gpu_sm", **out)


def _access(
    s: str, count: Floats, mine: Floats, threads: Floats, lanes: Floats, size: float
) -> dict[str, ArrayLike]:
    """A stream of contiguous accesses; the last one of a thread may be partly empty."""
    share = mine / np.ceil(mine)
    return {
        f"{s}_count": count, f"{s}_bytes": share * threads * lanes * size, f"{s}_lanes": lanes,
        f"{s}_elem_bytes": size, f"{s}_thread_run": threads,
        f"{s}_stride1_bytes": lanes * size,
    }  # fmt: skip
