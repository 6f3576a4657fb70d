"""Rows of published Ascend measurements as kernel tables.

The columns are those of four public collections: the matmul tiling cases and the basic-API matmul
of asc-devkit, its guide's matmul cases, the catlass examples, and asc-devkit's vector add.  A row
whose tiling was not published, or that ran in a mode that no table describes, gives None.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from hwsim.ascend_cube.tiles import matmul_table
from hwsim.ascend_cube.tiling import MatmulTiling
from hwsim.ascend_cube.vector_tiles import VectorTiling, elementwise_table
from hwsim.cells import whole
from hwsim.table import KernelTable

_Row = Mapping[str, str]
_DTYPES = {"fp16": "float16", "fp32": "float32", "int8": "int8", "bf16": "bfloat16"}
# Vector cores drive the cube core, share its inputs or convert them first; "unit flag" is a pair
# that its collection marks as measured in another mode.
_OTHER_MODES = ("MIX", "AIV", "unit flag", "IBShare", "split K")


def chip_name(row: _Row) -> str:
    """The shipped chip that a row was measured on.

    The 24-core "A2" parts run at the B1's clock except where the row says 1800 MHz; the 20-core
    ones are B3.
    """
    named = row.get("chip", "")
    for part in ("910B1", "910B2", "910B3", "910B4"):
        if part in named:
            return f"ascend-{part.lower()}"
    if "1800" in named:
        return "ascend-910b2"
    return "ascend-910b3" if whole(row, "aic_cores", 24) == 20 else "ascend-910b1"


def tiling_case(row: _Row) -> KernelTable | None:
    """A row of ``matmul_tiling_910b1`` or ``matmul_basic_api_a2``.

    What the tiling API chose without saying is what the collection's notes derive: two buffers of
    A for a depth of 4, and B's step and depth of the case after.
    """
    step_a, step_b = whole(row, "step_ka", 2), whole(row, "step_kb", 4)
    tiling = MatmulTiling(
        split_m=whole(row, "split_m"),
        split_n=whole(row, "split_n"),
        base_m=whole(row, "base_m"),
        base_n=whole(row, "base_n"),
        base_k=whole(row, "base_k"),
        single_core_m=whole(row, "single_core_m", 0),
        single_core_n=whole(row, "single_core_n", 0),
        step_ka=step_a,
        step_kb=step_b,
        depth_a1=whole(row, "depth_a1", step_a * whole(row, "l1a_buffers", 2)),
        depth_b1=whole(row, "depth_b1", step_b * whole(row, "l1b_buffers", 2)),
        db_l0a=whole(row, "l0a_buffers", whole(row, "db_l0a", 0)),
        db_l0b=whole(row, "l0b_buffers", whole(row, "db_l0b", 0)),
        db_l0c=whole(row, "l0c_buffers", whole(row, "db_l0c", 0)),
        l2_split_m=whole(row, "l2_split_m", 1),
    )
    return _matmul(row, row["dtype_a"], tiling, row["trans_a"] == "1", row["trans_b"] == "1")


def guide_case(row: _Row) -> KernelTable | None:
    """A row of ``matmul_guide_cases_a2``; its times are those of the core, without the launch."""
    text = f"{row['topic']} {row['template']} {row['variant']}"
    if not row["base_m"] or any(mode in text for mode in _OTHER_MODES):
        return None
    one_by_one = "NORM" in row["template"]
    step_a = 1 if one_by_one else whole(row, "step_ka", 1)
    step_b = 1 if one_by_one else whole(row, "step_kb", 1)
    core_m, core_n = whole(row, "single_core_m"), whole(row, "single_core_n")
    tiling = MatmulTiling(
        split_m=math.ceil(whole(row, "M") / core_m),
        split_n=math.ceil(whole(row, "N") / core_n),
        base_m=whole(row, "base_m"),
        base_n=whole(row, "base_n"),
        base_k=whole(row, "base_k"),
        single_core_m=core_m,
        single_core_n=core_n,
        step_ka=step_a,
        step_kb=step_b,
        depth_a1=whole(row, "depth_a1", 2 * step_a),
        depth_b1=whole(row, "depth_b1", 2 * step_b),
    )
    return _matmul(row, row["dtype_a"], tiling)


def catlass_case(row: _Row) -> KernelTable | None:
    """A row of ``catlass_gemm``: tiles dealt to the cores, two L1 stages; int8 is dequantised."""
    if not row["l1_tile_m"] or not row["l0_tile_k"]:
        return None
    steps = whole(row, "l1_tile_k") // whole(row, "l0_tile_k")
    tiling = MatmulTiling(
        split_m=1,
        split_n=1,
        base_m=whole(row, "l1_tile_m"),
        base_n=whole(row, "l1_tile_n"),
        base_k=whole(row, "l0_tile_k"),
        step_ka=steps,
        step_kb=steps,
        depth_a1=2 * steps,
        depth_b1=2 * steps,
        deal_to=whole(row, "aic_cores", 24),
    )
    layout = row["layout_b"]
    nz, transposed = layout == "zN", layout == "col"
    return _matmul(row, row["dtype_in"], tiling, row["layout_a"] == "col", transposed, nz)


def add_case(row: _Row) -> KernelTable | None:
    """A row of ``add_8192_a2``; reads that bypass L2 have no column."""
    if row["l2_mode"] != "normal":
        return None
    found = re.fullmatch(r"(\d+)x(\d+)", row["shape"])
    if found is None:
        raise ValueError(f"shape {row['shape']!r}: expected ROWSxCOLUMNS")
    rows, columns = int(found[1]), int(found[2])
    buffers = 2 if row["double_buffer"] == "1" else 1
    tiling = VectorTiling(whole(row, "num_aiv"), whole(row, "tile_elems"), buffers)
    scalar = row["compute_mode"] == "scalar"
    dtype = _DTYPES[row["dtype"]]
    return elementwise_table(rows * columns, dtype, tiling, inputs=2, vectorised=not scalar)


def _matmul(
    row: _Row,
    dtype: str,
    tiling: MatmulTiling,
    trans_a: bool = False,
    trans_b: bool = False,
    nz: bool = False,
) -> KernelTable | None:
    if dtype not in _DTYPES:
        return None
    quantised = dtype == "int8"
    return matmul_table(
        whole(row, "M"),
        whole(row, "N"),
        whole(row, "K"),
        _DTYPES[dtype],
        tiling,
        out_dtype="int32" if quantised else None,
        trans_a=trans_a,
        trans_b=trans_b,
        layout_b="nz" if nz else "nd",
        dequant_to="bfloat16" if quantised else None,
    )
