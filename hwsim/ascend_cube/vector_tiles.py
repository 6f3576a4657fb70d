"""Kernel tables of vector-core kernels from tile parameters, without TVM."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hwsim.ascend_cube.tiles import BITS
from hwsim.table import KernelTable


@dataclass(frozen=True)
class VectorTiling:
    """``blocks`` vector cores take an even share each, in tiles of ``tile_elements``.

    ``buffers`` copies of a tile's inputs and outputs are in UB; one contiguous piece of a tile in
    global memory has ``run_elements`` (0: all of the tile).
    """

    blocks: int
    tile_elements: int
    buffers: int = 1
    run_elements: int = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 0 or (value == 0 and name != "run_elements"):
                raise ValueError(f"{name} is {value}, expected a positive number")


def elementwise_table(
    elements: int,
    dtype: str,
    tiling: VectorTiling,
    *,
    inputs: int = 1,
    outputs: int = 1,
    simple_ops: int = 1,
    special_ops: int = 0,
    vectorised: bool = True,
) -> KernelTable:
    """One row: ``outputs`` tensors of ``elements`` from ``inputs`` others of the same size.

    Each element takes ``simple_ops`` additions or the like and ``special_ops`` exponentials or the
    like.  With no output it is a pure read.  What is not ``vectorised`` the scalar unit does.

    Raises
    ------
    ValueError
        Fewer than one element, or an unknown dtype.
    """
    if elements < 1:
        raise ValueError(f"elements is {elements}, expected a positive number")
    if dtype not in BITS:
        raise ValueError(f"dtype {dtype!r}: expected one of {', '.join(BITS)}")
    width = BITS[dtype] // 8
    blocks = min(tiling.blocks, math.ceil(elements / tiling.tile_elements))
    tiles = math.ceil(elements / blocks / tiling.tile_elements)
    tile_bytes = elements / blocks / tiles * width
    run_bytes = min(tile_bytes, (tiling.run_elements or tiling.tile_elements) * width)
    ops = simple_ops + special_ops
    return KernelTable.of(
        "ascend_cube",
        flops=float(ops * elements),
        alu_ops=float(simple_ops * elements),
        special_ops=float(special_ops * elements),
        blocks=blocks,
        in_bits=BITS[dtype],
        acc_bits=BITS[dtype],
        out_bits=BITS[dtype],
        out_tiles=tiles,
        x_gm_ub_count=inputs * tiles,
        x_gm_ub_bytes=tile_bytes,
        x_gm_ub_run_bytes=run_bytes,
        x_gm_ub_unique_bytes=float(inputs * elements * width),
        vec_count=ops * tiles if vectorised else 0,
        vec_bytes=tile_bytes,
        vec_run_bytes=tile_bytes,
        c_ub_gm_count=outputs * tiles,
        c_ub_gm_bytes=tile_bytes,
        c_ub_gm_run_bytes=run_bytes,
        c_ub_gm_unique_bytes=float(outputs * elements * width),
        ub_bytes=float((inputs + outputs) * tiling.tile_elements * width),
        ub_buffers=tiling.buffers,
    )
