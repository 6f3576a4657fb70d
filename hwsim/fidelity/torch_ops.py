"""PyTorch's row-wise CUDA kernels as kernel tables, and what its dispatch adds to a timed call.

Block sizes follow PyTorch 2.1: warp softmax up to 1024 columns, block softmax beyond (a power of
two, at least half of ``columns / lanes``), vectorised layer norm with 128 threads a row,
elementwise kernels of 128 threads with 512 elements.

Instructions an element are counted from the sources: an accurate exponential is 6 and one in the
special units, a division 9 and one, the error function 20 and one; conversions, comparisons, sums
and addresses are one each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hwsim.gpu_sm.rowwise import rowwise
from hwsim.table import KernelTable

Ints = NDArray[np.int64]

# Host time inside NeuSight's CUDA events, us: median of measured minus predicted over the rows of
# its calibration set whose kernel takes less than 12 us, on A100 and T4 (which agree within 5 us).
GAP_US = {"linear": 50.0, "bmm": 27.0, "softmax": 29.0, "ln": 43.0, "add": 24.0}

_WARP_COLUMNS = 1024
_BLOCK_ELEMENTS, _BLOCK_THREADS = 512, 128
_REDUCE_OPS = 150.0  # of a thread, for one reduction over a block


def softmax(rows: Ints, columns: Ints, bits: int = 32) -> KernelTable:
    """Softmax over the last dimension: one read where a warp keeps its row, else three.

    The block kernel takes the exponential twice, for the sum and for the result.
    """
    warp = np.flatnonzero(columns <= _WARP_COLUMNS)
    block = np.flatnonzero(columns > _WARP_COLUMNS)
    tables = [_warp_softmax(rows[warp], columns[warp], bits)] if len(warp) else []
    tables += [_block_softmax(rows[block], columns[block], bits)] if len(block) else []
    return KernelTable.concat(tables).take_candidates(np.argsort(np.r_[warp, block]))


def _warp_softmax(rows: Ints, columns: Ints, bits: int) -> KernelTable:
    return rowwise(
        rows, columns, _BLOCK_THREADS, rows_per_block=np.where(columns <= 128, 8, 4), lanes=1,
        alu_ops=20, special_ops=2, thread_ops=_REDUCE_OPS, bits=bits,
    )  # fmt: skip


def _block_softmax(rows: Ints, columns: Ints, bits: int) -> KernelTable:
    lanes = 128 // bits
    half = np.minimum(columns // lanes, 1024) / 2
    threads = np.maximum(2 ** np.ceil(np.log2(half)).astype(np.int64), 32)
    return rowwise(
        rows, columns, threads, reads=3, lanes=lanes, alu_ops=31, special_ops=3,
        thread_ops=_REDUCE_OPS, bits=bits,
    )  # fmt: skip


def layer_norm(rows: Ints, columns: Ints, bits: int = 32) -> KernelTable:
    """Layer norm over the last dimension: one pass for the statistics (Welford), one to apply."""
    return rowwise(
        rows, columns, _BLOCK_THREADS, reads=2, lanes=128 // bits, alu_ops=15, special_ops=1,
        thread_ops=2 * _REDUCE_OPS, bits=bits,
    )  # fmt: skip


def elementwise(
    elements: ArrayLike, inputs: int, alu_ops: float, special_ops: float = 0.0, bits: int = 32
) -> KernelTable:
    """An operation on whole tensors, vectorised."""
    blocks = np.ceil(np.asarray(elements, np.float64) / _BLOCK_ELEMENTS)
    return rowwise(
        blocks, _BLOCK_ELEMENTS, _BLOCK_THREADS, inputs=inputs, lanes=min(4, 128 // bits),
        alu_ops=alu_ops, special_ops=special_ops, bits=bits,
    )  # fmt: skip
