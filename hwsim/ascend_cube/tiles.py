"""Kernel tables from tile parameters, without TVM: the way Ascend C describes a matmul's tiling.

>>> from hwsim.chips import load_chip
>>> from hwsim.backends import simulate
>>> tiling = MatmulTiling(split_m=4, split_n=6, base_m=128, base_n=256, base_k=64,
...                       step_ka=4, step_kb=4, depth_a1=8, depth_b1=8)
>>> table = matmul_table(4096, 4096, 4096, "float16", tiling, trans_b=True)
>>> int(simulate(table, load_chip("ascend-910b1")).failure[0])
0
"""

from __future__ import annotations

import math
from typing import Literal

from hwsim.ascend_cube.tiling import MatmulTiling, Shape
from hwsim.table import KernelTable

BITS = {"float32": 32, "float16": 16, "bfloat16": 16, "int8": 8, "int32": 32}
_L0C_BYTES = 128 * 1024
_L0_BYTES = 64 * 1024
Layout = Literal["nd", "nz"]


def matmul_table(
    m: int,
    n: int,
    k: int,
    dtype: str,
    tiling: MatmulTiling,
    *,
    out_dtype: str | None = None,
    trans_a: bool = False,
    trans_b: bool = False,
    layout_b: Layout = "nd",
    dequant_to: str | None = None,
) -> KernelTable:
    """One row: ``C[m, n] = A[m, k] B[k, n]`` on the cube cores.

    ``layout_b="nz"`` is a B already stored in fractals, read without conversion.  With
    ``dequant_to`` the tiles go through global memory to the vector cores, which scale them by row
    and by column and write them in that dtype.

    Raises
    ------
    ValueError
        A size or tile parameter that is not positive, or an unknown dtype.
    """
    for name, size in (("m", m), ("n", n), ("k", k)):
        if size < 1:
            raise ValueError(f"{name} is {size}, expected a positive number")
    for name in (dtype, out_dtype or dtype, dequant_to or dtype):
        if name not in BITS:
            raise ValueError(f"dtype {name!r}: expected one of {', '.join(BITS)}")
    shape = Shape(m, n, k, BITS[dtype] // 8, BITS[out_dtype or dtype] // 8, tiling)
    return KernelTable.of(
        "ascend_cube",
        **_grid(shape),
        **_loads(shape, trans_a, trans_b, layout_b),
        **_compute(shape),
        **(_dequant(shape, BITS[dequant_to] // 8) if dequant_to else {}),
    )


def _grid(s: Shape) -> dict[str, float]:
    t = s.t
    dealt = bool(t.deal_to)
    return {
        "blocks": s.blocks,
        "grid_m": s.tiles_m if dealt else t.split_m,
        "grid_n": s.tiles_n if dealt else t.split_n,
        "work_share": s.share,
        "flops": 2.0 * s.m * s.n * s.k,
        "macs_useful": float(s.m * s.n * s.k),
        "macs": float(_up(s.m, 16) * _up(s.n, 16) * _up(s.k, 32 // s.in_bytes)),
        "in_bits": 8 * s.in_bytes,
        "out_bits": 8 * s.out_bytes,
        "intrin_m": 16,
        "intrin_n": 16,
        "intrin_k": 32 // s.in_bytes,
        "tile_m": t.base_m,
        "tile_n": t.base_n,
        "tile_k": t.base_k * max(t.step_ka, t.step_kb),
        "out_tiles": s.tiles,
        "k_steps": math.ceil(s.k_steps / max(t.step_ka, t.step_kb)),
        "reduce_length": s.k,
    }


def _loads(s: Shape, trans_a: bool, trans_b: bool, layout_b: Layout) -> dict[str, float]:
    """Streams from global memory to L1.

    Tiles run along n within m: with all of its reduction in L1, A stays for a row of tiles.
    """
    t = s.t
    k_loads_a, k_loads_b = math.ceil(s.k_steps / t.step_ka), math.ceil(s.k_steps / t.step_kb)
    macro_m, macro_n = math.ceil(s.tile_rows / t.step_m), math.ceil(s.tile_columns / t.step_n)
    a_passes = macro_m if k_loads_a == 1 else macro_m * macro_n
    b_passes = 1 if k_loads_b == 1 and macro_n == 1 else macro_m * macro_n
    a_rows, a_depth = s.rows * min(t.step_m, s.tile_rows), s.k / k_loads_a
    b_cols, b_depth = s.columns * min(t.step_n, s.tile_columns), s.k / k_loads_b
    a_run, a_step, a_pitch = (
        (a_rows, t.base_m * t.step_m, s.m) if trans_a else (a_depth, t.base_k * t.step_ka, s.k)
    )
    b_run, b_step, b_pitch = (
        (b_depth, t.base_k * t.step_kb, s.k) if trans_b else (b_cols, t.base_n * t.step_n, s.n)
    )
    b_run_bytes, b_align = b_run * s.in_bytes, _align(b_step, b_pitch, s.in_bytes)
    if layout_b == "nz":
        b_run_bytes, b_align = 32.0 * (b_cols if trans_b else b_depth), 512
    whole = s.m * s.n * s.out_bytes + s.m * s.k * s.in_bytes
    return {
        "a_gm_l1_count": a_passes * k_loads_a,
        "a_gm_l1_bytes": a_rows * a_depth * s.in_bytes,
        "a_gm_l1_run_bytes": a_run * s.in_bytes,
        "a_gm_l1_align_bytes": _align(a_step, a_pitch, s.in_bytes),
        "a_gm_l1_unique_bytes": float(s.m * s.k * s.in_bytes),
        "b_gm_l1_count": b_passes * k_loads_b,
        "b_gm_l1_bytes": b_cols * b_depth * s.in_bytes,
        "b_gm_l1_run_bytes": b_run_bytes,
        "b_gm_l1_align_bytes": b_align,
        "b_gm_l1_unique_bytes": float(s.n * s.k * s.in_bytes),
        "l2_window_bytes": whole / t.l2_split_m + s.n * s.k * s.in_bytes,
        **_l1(s),
    }


def _l1(s: Shape) -> dict[str, float]:
    t = s.t
    a, b = t.base_m * t.base_k * s.in_bytes, t.base_n * t.base_k * s.in_bytes
    total = t.depth_a1 * a + t.depth_b1 * b
    buffers = max(
        1, min(t.depth_a1 // (t.step_m * t.step_ka), t.depth_b1 // (t.step_n * t.step_kb))
    )
    return {"l1_bytes": total / buffers, "l1_buffers": buffers}


def _compute(s: Shape) -> dict[str, float]:
    t, steps = s.t, s.tiles * s.k_steps
    a, b = t.base_m * t.base_k * s.in_bytes, t.base_n * t.base_k * s.in_bytes
    c = t.base_m * t.base_n * 4
    out = s.rows * s.columns * s.out_bytes
    return {
        "a_l1_l0a_count": steps,
        "a_l1_l0a_bytes": s.rows * s.depth * s.in_bytes,
        "b_l1_l0b_count": steps,
        "b_l1_l0b_bytes": s.columns * s.depth * s.in_bytes,
        "l0a_bytes": a,
        "l0a_buffers": t.db_l0a or (2 if 2 * a <= _L0_BYTES else 1),
        "l0b_bytes": b,
        "l0b_buffers": t.db_l0b or (2 if 2 * b <= _L0_BYTES else 1),
        "l0c_bytes": c,
        "l0c_buffers": t.db_l0c or (2 if 2 * c <= _L0C_BYTES else 1),
        "mm_count": steps,
        "mm_m": math.ceil(s.rows),
        "mm_n": math.ceil(s.columns),
        "mm_k": math.ceil(s.depth),
        "c_l0c_gm_count": s.tiles,
        "c_l0c_gm_bytes": out,
        "c_l0c_gm_run_bytes": s.columns * s.out_bytes,
        "c_l0c_gm_align_bytes": _align(t.base_n, s.n, s.out_bytes),
        "c_l0c_gm_unique_bytes": float(s.m * s.n * s.out_bytes),
    }


_CHUNK_ROWS = 32  # of a tile, in UB at once
_DEQUANT_PASSES = 4  # int32 to fp32, times row scale, times column scale, to the output dtype


def _dequant(s: Shape, final_bytes: int) -> dict[str, float]:
    """Vector work of a core's tiles, in chunks of rows."""
    chunks = s.tiles * math.ceil(s.rows / _CHUNK_ROWS)
    cells = s.rows * s.columns * s.tiles / chunks
    return {
        "alu_ops": float(_DEQUANT_PASSES * s.m * s.n),
        "x_gm_ub_count": chunks,
        "x_gm_ub_bytes": cells * s.out_bytes,
        "x_gm_ub_run_bytes": s.columns * s.out_bytes,
        "x_gm_ub_unique_bytes": float(s.m * s.n * s.out_bytes),
        "vec_count": _DEQUANT_PASSES * chunks,
        "vec_bytes": cells * 4,
        "vec_run_bytes": cells * 4,
        "c_ub_gm_count": chunks,
        "c_ub_gm_bytes": cells * final_bytes,
        "c_ub_gm_run_bytes": s.columns * final_bytes,
        "c_ub_gm_unique_bytes": float(s.m * s.n * final_bytes),
        "ub_bytes": cells * (s.out_bytes + final_bytes),
        "ub_buffers": 2,
    }


def _align(step: int, pitch: int, element_bytes: int) -> int:
    """Largest power of two, up to 512, that all runs start at: of tile step and row pitch."""
    start = math.gcd(step, pitch) * element_bytes
    return min(start & -start, 512)


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
