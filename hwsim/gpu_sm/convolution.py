"""Kernel tables of a single-channel 2D convolution, from its tile parameters.

The kernel of Kernel Tuner's convolution example (van Werkhoven et al. 2014): a block of ``block_x``
by ``block_y`` threads makes ``block_x * tile_x`` by ``block_y * tile_y`` outputs, those of a thread
lying a block apart.  The filter lies in constant memory and all taps are unrolled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hwsim.gpu_sm.chip import MAX_REGISTERS_THREAD
from hwsim.gpu_sm.occupancy import ADDRESSING_REGISTERS
from hwsim.table import KernelTable

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_F32 = 4
_BANKS = 32
# Accumulators and inputs that the compiler holds where inputs are used again by a later output; 60
# registers with addresses: registers of the 2080 Ti convolutions (Kernel Tuning Toolkit), fitted.
_AHEAD_REGISTERS = 36
# What follows is of read-only loads straight to registers, counted in what NVRTC 11.8 and 12.2 make
# of this kernel for compute capability 8.0, filters of 9 to 17 a side.  An ordinary load adds a
# constant to an address that all have in common, a read-only one has its own computed.
_ADDRESS_OPS, _CHECKED_ADDRESS_OPS = 3, 5  # integer instructions a load, beyond one
_ROW_REGISTERS = 3  # a value and its 64-bit address, for each input of a filter row
_REUSE_REGISTERS = 2.1  # for each output and column of the filter, where rows are used again
_HOARD_INPUTS = 200  # live inputs that take all registers: 133 are used at 120, 255 at 225
_UNROLLED_MACS = 2048  # in bounds checks: 2,028 are unrolled, of 2,700 a loop is left ...
_ROLLED_REGISTERS = 190  # ... which uses 187 to 194


def convolution_2d(
    block_x: ArrayLike,
    block_y: ArrayLike,
    tile_x: ArrayLike,
    tile_y: ArrayLike,
    *,
    staged: ArrayLike = 1,
    padded: ArrayLike = 0,
    read_only: ArrayLike = 0,
    height: int = 4096,
    width: int = 4096,
    filter_size: int = 15,
) -> KernelTable:
    """Table of ``n`` fp32 convolutions; the tile parameters are ``(n,)`` integers.

    ``staged``: the input patch goes through shared memory, else every load goes to L1.  ``padded``:
    shared rows are padded against bank conflicts, where the source pads at all; ``read_only``:
    global loads take the read-only, non-coherent path.
    """
    bx, by, tx, ty, use_shared, pad_wanted, cached = np.broadcast_arrays(
        *(np.atleast_1d(np.asarray(v, np.int64)) for v in (
            block_x, block_y, tile_x, tile_y, staged, padded, read_only))
    )  # fmt: skip
    halo = filter_size - 1
    patch_x, patch_y = bx * tx + halo, by * ty + halo
    pad = np.where(pad_wanted > 0, row_padding(bx, tx, halo), 0)
    grid_x, grid_y = -(-width // (bx * tx)), -(-height // (by * ty))
    threads, blocks, taps = bx * by, grid_x * grid_y, filter_size**2
    row_bytes = _F32 * (width + halo)
    # Where the tile does not divide the image every access to it stands in a bounds check.
    checked = (width % (bx * tx) != 0) | (height % (by * ty) != 0)
    wide = _distinct(bx, tx, filter_size)
    loads = wide * _distinct(by, ty, filter_size)
    direct = np.where(checked, taps * tx * ty, loads)  # what is checked is not merged
    stage_rows = -(-patch_y // by)
    stage_loads = stage_rows * -(-patch_x // bx)
    span = (ty - 1) * by  # rows between the first and the last use of an input
    reused = (ty > 1) & (by < filter_size)
    live = np.where(reused, np.minimum(span, filter_size) * wide, 0)
    addressed = (use_shared == 0) & (cached > 0)
    operands = _operands(tx * ty, reused, filter_size)
    ahead = _read_ahead(wide, tx * ty, live, checked, filter_size) - tx * ty
    hoarding = (use_shared > 0) | ~(addressed | checked)
    return KernelTable.of(
        "gpu_sm",
        flops=np.full(len(bx), 2.0 * taps * height * width),
        macs=1.0 * blocks * threads * tx * ty * taps,
        macs_useful=1.0 * taps * height * width,
        blocks=blocks, grid_m=grid_y, grid_n=grid_x, threads=threads,
        tile_m=by * ty, tile_n=bx * tx, reduce_length=taps, reduce_inner=taps,
        loop_depth=2, unroll=taps * tx * ty, code_macs=taps * tx * ty,
        shared_bytes=1.0 * use_shared * _F32 * patch_y * (patch_x + pad),
        acc_regs=tx * ty,
        operand_regs=np.where(addressed, np.maximum(operands, ahead), operands),
        address_ops=addressed * np.where(checked, _CHECKED_ADDRESS_OPS, _ADDRESS_OPS),
        code_loads=loads, live_inputs=hoarding * live,
        barriers=use_shared, serial_loads=checked, stage_loops=use_shared * stage_rows,
        launch_bounds=0, shared_static=1,
        x_global_shared_count=use_shared * stage_loads,
        x_global_shared_bytes=_F32 * patch_x * patch_y / stage_loads,
        x_global_shared_run_bytes=_F32 * patch_x,
        x_global_shared_unique_bytes=1.0 * use_shared * row_bytes * (height + halo),
        x_global_shared_thread_run=bx, x_global_shared_stride1_bytes=_F32,
        x_global_shared_stride2_bytes=row_bytes,
        x_global_shared_store_stride1_bytes=_F32,
        x_global_shared_store_stride2_bytes=_F32 * (patch_x + pad),
        x_shared_local_count=use_shared * loads,
        x_shared_local_bytes=_F32 * threads, x_shared_local_run_bytes=_F32 * bx,
        x_shared_local_thread_run=bx, x_shared_local_stride1_bytes=_F32,
        x_shared_local_stride2_bytes=_F32 * (patch_x + pad),
        x_global_local_count=(1 - use_shared) * direct,
        x_global_local_bytes=_F32 * threads, x_global_local_run_bytes=_F32 * bx,
        x_global_local_unique_bytes=1.0 * (1 - use_shared) * row_bytes * (height + halo),
        x_global_local_thread_run=bx, x_global_local_stride1_bytes=_F32,
        x_global_local_stride2_bytes=row_bytes,
        c_local_global_count=tx * ty, c_local_global_bytes=_F32 * threads,
        c_local_global_run_bytes=_F32 * bx, c_local_global_unique_bytes=_F32 * height * width,
        c_local_global_thread_run=bx, c_local_global_stride1_bytes=_F32,
        c_local_global_stride2_bytes=_F32 * width,
    )  # fmt: skip


def _operands(outputs: Ints, reused: Bools, filter_size: int) -> Ints:
    """Registers for inputs: a filter row of them; where rows are used again, ahead up to 60."""
    ahead = np.where(reused, _AHEAD_REGISTERS - outputs, 0)
    return np.where(outputs > 1, np.maximum(ahead, filter_size), 3)


def _read_ahead(
    wide: Ints, outputs: Ints, live: Ints, checked: Bools, filter_size: int
) -> NDArray[np.float64]:
    """Registers beyond addressing of a thread that loads its inputs read-only as they are needed.

    It has those of a filter row under way, and keeps what later outputs use; in bounds checks one
    is loaded after the other, unless the code is so long that a loop is left.
    """
    row = np.maximum(_ROW_REGISTERS * wide, (live > 0) * _REUSE_REGISTERS * filter_size * outputs)
    free = np.where(live >= _HOARD_INPUTS, MAX_REGISTERS_THREAD, row)
    rolled = (filter_size**2 * outputs > _UNROLLED_MACS) * _ROLLED_REGISTERS
    most = np.minimum(np.where(checked, rolled, free), MAX_REGISTERS_THREAD)
    return np.asarray(most - ADDRESSING_REGISTERS)


def row_padding(block_x: Ints, tile_x: Ints, halo: int) -> Ints:
    """Elements that the source adds to a shared row: none where warps are rows already."""
    rest = halo + block_x * tile_x - block_x
    return np.where((block_x % _BANKS != 0) & (rest % _BANKS != 0), (_BANKS - rest) & 31, 0)


def _distinct(block: Ints, tile: Ints, filter_size: int) -> Ints:
    """How many different offsets ``i * block + j`` (i < tile, j < filter) a thread reads."""
    return filter_size + (tile - 1) * np.minimum(block, filter_size)
