"""Kernel tables of a dedispersion: for every trial dispersion, samples of all channels added up.

The kernel of the AMBER pipeline (Sclocco et al. 2016) as Kernel Tuner's benchmarks tune it: for
each (sample, trial) it adds one byte of each channel, at an offset that grows with trial and
channel.  Every byte is loaded from global memory, converted and added; nothing is staged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hwsim.table import KernelTable

CHANNELS, SAMPLES_IN, SAMPLES, TRIALS = 1536, 25_650, 25_000, 2048
_INDEX_OPS = 3  # multiply, truncate and add for the offset of one trial in one channel
_ADD_OPS = 1  # of one byte, after its conversion
_F32 = 4


def dedispersion(
    block_x: ArrayLike,
    block_y: ArrayLike,
    tile_x: ArrayLike,
    tile_y: ArrayLike,
    *,
    strided_x: ArrayLike = 0,
) -> KernelTable:
    """Table of ``n`` kernels; x runs along samples, y along trials.

    A thread makes ``tile_x * tile_y`` outputs; along x they are neighbours or, where ``strided_x``,
    a block apart.  Along y it makes no difference: neighbouring trials read nearly the same bytes.
    """
    bx, by, tx, ty, sx = (
        np.asarray(a, np.int64)
        for a in np.broadcast_arrays(
            *(np.atleast_1d(a) for a in (block_x, block_y, tile_x, tile_y, strided_x))
        )
    )
    grid_x, grid_y = -(-SAMPLES // (bx * tx)), -(-TRIALS // (by * ty))
    threads, blocks, outputs = bx * by, grid_x * grid_y, tx * ty
    executed = 1.0 * blocks * threads * outputs * CHANNELS
    step = np.where(sx > 0, 1, tx)
    return KernelTable.of(
        "gpu_sm",
        flops=np.full(len(bx), 1.0 * SAMPLES * TRIALS * CHANNELS),
        alu_ops=executed * _ADD_OPS + executed / tx * _INDEX_OPS,
        special_ops=executed,  # bytes become floats in the special units
        blocks=blocks, grid_m=grid_y, grid_n=grid_x, threads=threads,
        tile_m=by * ty, tile_n=bx * tx, reduce_length=CHANNELS, loop_depth=3,
        acc_regs=outputs, operand_regs=outputs + ty,
        x_global_local_count=CHANNELS * outputs, x_global_local_bytes=threads,
        x_global_local_elem_bytes=1, x_global_local_run_bytes=bx * step,
        x_global_local_unique_bytes=1.0 * CHANNELS * SAMPLES_IN,
        x_global_local_thread_run=bx, x_global_local_stride1_bytes=step,
        c_local_global_count=outputs, c_local_global_bytes=_F32 * threads,
        c_local_global_run_bytes=_F32 * bx * step,
        c_local_global_unique_bytes=_F32 * SAMPLES * TRIALS,
        c_local_global_thread_run=bx, c_local_global_stride1_bytes=_F32 * step,
        c_local_global_stride2_bytes=_F32 * SAMPLES,
    )  # fmt: skip
