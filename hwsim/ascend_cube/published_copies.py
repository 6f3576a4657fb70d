"""Rows of published Ascend measurements without arithmetic: copies on chip and layout changes.

The columns are those of asc-devkit's best practices ``data_copy`` and ``bank_conflict_nd2nz``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from hwsim.ascend_cube.vector_tiles import VectorTiling, elementwise_table
from hwsim.cells import whole
from hwsim.table import KernelTable

_Row = Mapping[str, str]
_BYTES = 2  # fp16
_FRACTAL_BYTES = 32  # one row of a fractal: the contiguous piece of a tile's column in NZ order
_UB_BYTES = 192 * 1024
_REPEATS = 4  # of the L2 cases: the matrix whole, or each of its quarters, four times


def nd2nz_case(row: _Row) -> KernelTable | None:
    """A row of ``nd2nz_vector_a2``: tiles in, fractal columns out.

    Bank conflicts in UB have no column.
    """
    rows, columns = whole(row, "rows"), whole(row, "cols")
    tile_rows, tile_columns = whole(row, "tile_h"), whole(row, "tile_w")
    tiling = VectorTiling(
        whole(row, "num_aiv"), tile_rows * tile_columns, buffers=2, run_elements=tile_columns
    )
    table = elementwise_table(rows * columns, "float16", tiling)
    out_run = np.array([float(tile_rows * _FRACTAL_BYTES)])
    return KernelTable(table.backend, len(table), {**table.columns, "c_ub_gm_run_bytes": out_run})


def data_copy_case(row: _Row) -> KernelTable | None:
    """A row of ``data_copy_a2`` or ``data_copy_l2_a2``: a tensor read by tiles into UB or L1."""
    rows, columns = whole(row, "tensor_m"), whole(row, "tensor_n")
    tile_rows, tile_columns = whole(row, "tile_m"), whole(row, "tile_n")
    cores, pattern = whole(row, "num_blocks"), row["pattern"]
    tiles = math.ceil(rows / tile_rows) * math.ceil(columns / tile_columns)
    repeats = _REPEATS if pattern.endswith(f"_x{_REPEATS}") else 1
    mine = tiles if pattern.startswith("all_cores") else tiles / cores
    tensor = float(_BYTES * rows * columns)
    stream = "a_gm_l1" if row["dest"] == "L1" else "x_gm_ub"
    values = {
        "blocks": cores,
        "grid_n": cores if pattern.endswith("same_order_nd2nz") else 1,
        "in_bits": 8 * _BYTES,
        "out_tiles": math.ceil(mine) * repeats,
        "work_share": mine / math.ceil(mine),
        "l2_window_bytes": tensor / (_REPEATS if pattern.startswith("quarter") else 1),
        f"{stream}_count": math.ceil(mine) * repeats,
        f"{stream}_bytes": float(_BYTES * tile_rows * tile_columns),
        f"{stream}_run_bytes": float(_BYTES * tile_columns),
        f"{stream}_align_bytes": 2 if columns % 2 else 512,
        f"{stream}_unique_bytes": tensor,
    }
    tile = float(_BYTES * tile_rows * tile_columns)
    buffers = max(1, int(_UB_BYTES / tile))  # nothing is computed: UB fills with copies under way
    if stream == "x_gm_ub":
        return KernelTable.of("ascend_cube", **values, ub_bytes=tile, ub_buffers=buffers)
    cube = {"mm_count": 1, "mm_m": 1, "mm_n": 1, "mm_k": 1}  # what makes it a kernel of cube cores
    return KernelTable.of("ascend_cube", **values, **cube, l1_bytes=tile, l1_buffers=2)
