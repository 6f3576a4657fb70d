"""Rows of published Ascend matmuls with an epilogue on the vector cores, as kernel tables.

Two programs of asc-devkit's best practices: ``matmul_gelu`` (fp16 matmul, GELU of the fp32 result)
and ``quant_group_matmul`` (int8 matmul in eight groups, dequantisation and GELU).  The rows name a
scenario; tile parameters are those of the programs' sources.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from hwsim.ascend_cube.tiles import matmul_table
from hwsim.ascend_cube.tiling import MatmulTiling
from hwsim.ascend_cube.vector_tiles import VectorTiling, elementwise_table
from hwsim.cells import whole
from hwsim.table import KernelTable

_Row = Mapping[str, str]
_CORES = 24
_GELU_SIMPLE, _GELU_SPECIAL = 6, 2  # of 8 passes an exponential and a division
_DEQUANT_SIMPLE = 4  # int32 to fp32, two scales, to fp16
_UB_ROWS = 24  # of a 256-wide tile in UB at once, in the quantised program
_CHUNK = 128 * 256 // 8  # elements of an fp32 tile in UB where none is recorded


def gelu_case(row: _Row) -> KernelTable | None:
    """A row of ``matmul_gelu_a2``: the matmul alone, GELU alone, or both fused."""
    m, n, k = (whole(row, name, 8192) for name in ("M", "N", "K"))
    what = _scenario(row)
    if "gelu" not in what:
        return _gelu_matmul(row, m, n, k)
    if "matmul" not in what and "mm" not in what and "fus" not in what:
        return _vector_kernel(m * n, "float32", _GELU_SIMPLE, _GELU_SPECIAL, 2 * _CORES, _CHUNK)
    return _with_passes(_gelu_matmul(row, m, n, k, fused=True), _GELU_SIMPLE, _GELU_SPECIAL)


def quantised_case(row: _Row) -> KernelTable | None:
    """A row of ``quant_group_matmul_a2``.

    With one slot between cube and vector cores they take turns, which is as if two kernels followed
    each other; with four they overlap.  Scenario 0 uses one vector core a cube core.
    """
    m, n, k = whole(row, "M", 8192), whole(row, "N", 8192), whole(row, "K", 1024)
    scenario = _scenario(row)
    tiling = MatmulTiling(
        1, 1, 128, 256, 128, step_ka=8, step_kb=4, depth_a1=16, depth_b1=8, deal_to=_CORES
    )
    overlapped = "2" in scenario
    table = matmul_table(
        m, n, k, "int8", tiling, out_dtype="int32", layout_b="nz",
        dequant_to="float16" if overlapped else None,
    )  # fmt: skip
    simple, special = _DEQUANT_SIMPLE + _GELU_SIMPLE, _GELU_SPECIAL
    if overlapped:
        return _with_passes(table, simple, special)
    vector_cores = _CORES if "0" in scenario else 2 * _CORES
    epilogue = _vector_kernel(m * n, "float32", simple, special, vector_cores, _UB_ROWS * 256)
    both = KernelTable.concat([table, epilogue])
    return _replaced(both, candidate=[0, 0])


def _gelu_matmul(row: _Row, m: int, n: int, k: int, fused: bool = False) -> KernelTable:
    tiling = MatmulTiling(
        split_m=whole(row, "split_m", 4), split_n=whole(row, "split_n", 6),
        base_m=whole(row, "base_m", 128), base_n=whole(row, "base_n", 256),
        base_k=whole(row, "base_k", 64),
        single_core_m=whole(row, "single_core_m", 2048),
        single_core_n=whole(row, "single_core_n", 1536),
        step_ka=8, step_kb=4, depth_a1=16, depth_b1=8,
    )  # fmt: skip
    epilogue = "float32" if fused else None
    return matmul_table(
        m, n, k, "float16", tiling, out_dtype="float32", trans_b=True, dequant_to=epilogue
    )


def _vector_kernel(
    elements: int, dtype: str, simple: int, special: int, cores: int, chunk: int
) -> KernelTable:
    tiling = VectorTiling(cores, chunk, buffers=2)
    return elementwise_table(elements, dtype, tiling, simple_ops=simple, special_ops=special)


def _with_passes(table: KernelTable, simple: int, special: int) -> KernelTable:
    """The table of a fused kernel whose epilogue takes that many passes over its elements."""
    cells = table["c_ub_gm_unique_bytes"] / (table["c_ub_gm_bytes"] / (table["vec_bytes"] / 4))
    chunks = table["c_ub_gm_count"]
    return _replaced(
        table,
        vec_count=chunks * (simple + special),
        alu_ops=simple * cells,
        special_ops=special * cells,
    )


def _replaced(table: KernelTable, **columns: ArrayLike) -> KernelTable:
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    return KernelTable(table.backend, len(table), {**table.columns, **arrays})


def _scenario(row: _Row) -> str:
    names = ("scenario", "case", "variant", "mode", "kernel")
    return " ".join(row[name] for name in names if name in row).lower()
