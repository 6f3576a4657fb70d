"""Kernel tables of library matrix multiplications (cuBLAS, CUTLASS), from problem and block tile.

``C[b] = A[b] B[b]``, A (m, k), B (k, n), C (m, n), row-major.  The kernels are double-buffered,
stage ``tile_k`` of the reduction at a time, and give each thread a fragment of up to 8 x 8 outputs.
Sliced kernels let groups of threads share the outputs and divide the reduction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hwsim.gpu_sm.chip import LINE_BYTES
from hwsim.table import KernelTable

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
_LANES_RUN = 2  # lanes of a warp that lie along m, before they step along n
_VECTOR_BYTES = 16


def library_gemm(
    m: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    tile_m: ArrayLike,
    tile_n: ArrayLike,
    threads: ArrayLike,
    *,
    batch: ArrayLike = 1,
    slices: ArrayLike = 1,
    split_k: ArrayLike = 1,
    fast_m: ArrayLike = False,
    bits: int = 32,
    tensor_core: bool = False,
    bias: bool = False,
    k_contiguous: bool = False,
) -> KernelTable:
    """Table of matrix multiplications; all arguments broadcast to ``(n_rows,)``.

    ``slices``: thread groups that divide the reduction inside a block; ``split_k``: blocks that
    divide it; ``fast_m``: neighbouring blocks run along m instead of n; ``bits``: width of inputs
    and outputs (accumulators have 32; 8 bits without tensor cores use dot products of four);
    ``k_contiguous``: A and B^T are row-major (a linear layer), so that loads run along the
    reduction.
    """
    arrays = (m, n, k, tile_m, tile_n, threads, batch, slices, split_k, fast_m)
    m_, n_, k_, tm, tn, threads_, batch_, slices_, split, swap = (
        a.astype(np.int64) for a in np.broadcast_arrays(*(np.atleast_1d(a) for a in arrays))
    )
    m_, n_ = np.where(swap > 0, n_, m_), np.where(swap > 0, m_, n_)
    tm, tn = np.where(swap > 0, tn, tm), np.where(swap > 0, tm, tn)
    grid_m, grid_n = -(-m_ // tm), -(-n_ // tn)
    size = bits // 8
    tile_k = np.full(len(m_), 32 if tensor_core else 8) * slices_
    steps = -(-k_ // (tile_k * split))
    blocks = 1.0 * grid_m * grid_n * batch_ * split
    acc = tm * tn * slices_ // threads_
    side = 2 ** np.ceil(np.log2(np.maximum(acc, 1)) / 2)
    frag_m, frag_n = side, np.maximum(acc / side, 1)  # 8 x 8, 8 x 4, 4 x 4
    columns: dict[str, ArrayLike] = {
        "flops": 2.0 * m_ * n_ * k_ * batch_,
        "macs": blocks * tm * tn * tile_k * steps,
        "macs_useful": 1.0 * m_ * n_ * k_ * batch_,
        "chained_blocks": split, "alu_ops": 1.0 * m_ * n_ * batch_ * (1 if bias else 0),
        "blocks": blocks, "grid_m": grid_m, "grid_n": grid_n, "grid_batch": batch_ * split,
        "threads": threads_, "tile_m": tm, "tile_n": tn, "tile_k": tile_k, "k_steps": steps,
        "reduce_length": k_, "reduce_inner": tile_k, "in_bits": bits, "out_bits": bits,
        "intrin_k": 4 if bits == 8 and not tensor_core else 0,
        "acc_regs": acc, "operand_regs": 2 * (frag_m + frag_n) * bits / 32,
        "barriers": steps, "pipeline_stages": 2, "tensor_core": int(tensor_core),
        "unroll": tile_k * acc, "vector_lanes": _VECTOR_BYTES // size,
        "shared_bytes": 2.0 * size * tile_k * (tm + tn),
    }  # fmt: skip
    depth = tile_k * steps
    for operand, tile, extent, frag, axis in (
        ("a", tm, m_, frag_m, "m"), ("b", tn, n_, frag_n, "n")):  # fmt: skip
        unique = 1.0 * size * extent * k_ * batch_
        along = tile_k if k_contiguous else tile
        stride = size * (k_ if k_contiguous else extent)
        columns |= _staged(operand, size * tile * depth, size * along, stride, threads_, size)
        columns[f"{operand}_global_shared_unique_bytes"] = unique
        reads = frag * size / _VECTOR_BYTES * depth / slices_
        columns |= _fragment(operand, axis, np.ceil(reads * (0.25 if tensor_core else 1)), threads_)
    outputs = 1.0 * size * m_ * n_ * batch_ * split
    columns |= _output(tm, tn, n_, threads_, size, outputs, acc)
    return KernelTable.of("gpu_sm", **columns)


def _staged(
    operand: str, moved: Ints, run: Ints, stride: Ints, threads: Ints, size: int
) -> dict[str, ArrayLike]:
    """One input through shared memory: 16 B a thread, neighbours adjacent along ``run`` bytes."""
    s = f"{operand}_global_shared"
    count = np.maximum(np.ceil(moved / (_VECTOR_BYTES * threads)), 1)
    return {
        f"{s}_count": count, f"{s}_bytes": moved / count, f"{s}_run_bytes": 1.0 * run,
        f"{s}_lanes": _VECTOR_BYTES // size, f"{s}_elem_bytes": size,
        f"{s}_thread_run": np.maximum(run // _VECTOR_BYTES, 1),
        f"{s}_stride1_bytes": _VECTOR_BYTES,
        f"{s}_stride2_bytes": np.ceil(stride / LINE_BYTES) * LINE_BYTES,
    }  # fmt: skip


def _fragment(operand: str, axis: str, count: Floats, threads: Ints) -> dict[str, ArrayLike]:
    """A thread's operands from shared memory, 16 B an access.

    Lanes are dealt so that ``t`` and ``t ^ 1``, or ``t`` and ``t ^ 2``, share an address: with it,
    as the libraries do, every access takes the least possible two wavefronts.
    """
    s = f"{operand}_shared_local"
    steps = (0, _VECTOR_BYTES) if axis == "n" else (_VECTOR_BYTES, 0)
    return {
        f"{s}_count": count, f"{s}_bytes": 1.0 * _VECTOR_BYTES * threads, f"{s}_lanes": 4,
        f"{s}_elem_bytes": 4, f"{s}_thread_run": _LANES_RUN,
        f"{s}_stride1_bytes": steps[0], f"{s}_stride2_bytes": steps[1],
    }  # fmt: skip


def _output(
    tm: Ints, tn: Ints, n: Ints, threads: Ints, size: int, unique: Floats, acc: Ints
) -> dict[str, ArrayLike]:
    s = "c_local_global"
    lanes = 4 // size if size < 4 else 1
    count = np.maximum(tm * tn // (threads * lanes), 1)
    return {
        f"{s}_count": count, f"{s}_bytes": 1.0 * size * tm * tn / count,
        f"{s}_run_bytes": 1.0 * size * tn, f"{s}_unique_bytes": unique, f"{s}_lanes": lanes,
        f"{s}_elem_bytes": size, f"{s}_thread_run": np.minimum(tn // lanes, 32),
        f"{s}_stride1_bytes": size * lanes, f"{s}_stride2_bytes": 1.0 * size * n,
    }  # fmt: skip
