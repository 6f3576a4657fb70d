"""MLU: sketches of a product on the matrix units.

Loops: block | core | i1 j1 | k0 | k1 | i3 j3 k2 | intrinsic.  ``block`` is blockIdx.x, dealt to
the clusters, and ``core`` threadIdx.x; i1 j1 count the output tiles that one core makes in turn; k0
steps through the cluster's SRAM, k1 through NRAM (A and C) and WRAM (B).  The sketches differ in
what goes through SRAM: both operands, A, B, or none.

The cores of a cluster divide the rows, so that B in SRAM serves all of them; where only A goes
through SRAM they divide the columns.  Along a divided axis neighbouring tiles belong to
neighbouring cores: what a cluster stages at a time is one box without holes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm.s_tir import Schedule

from tuner.spaces.common import annotate_buffers, deal_blocks, sample_buffers
from tuner.spaces.intrinsics import MatrixUnit
from tuner.spaces.matmul_like import MatmulLoops, as_matmul, inline_epilogue, inline_views

STAGED = ("ab", "a", "b", "")  # the operands that go through SRAM


@dataclass(frozen=True)
class _Loops:
    j1: Any
    k0: Any
    k1: Any


def sketches(
    sch: Schedule, name: str, unit: MatrixUnit, clusters: int, cores: int
) -> list[Schedule]:
    """The four sketches of block ``name``; none where the matrix unit cannot compute it.

    ``clusters`` is how many the chip has, ``cores`` how many cores one of them has.
    """
    made = [_sketch(sch.copy(), name, unit, staged, clusters, cores) for staged in STAGED]
    return [sketch for sketch in made if sketch is not None]


def _sketch(
    sch: Schedule, name: str, unit: MatrixUnit, staged: str, clusters: int, cores: int
) -> Schedule | None:
    matmul = as_matmul(sch, name, unit)
    if matmul is None:
        return None
    copy_out = sch.cache_write(matmul.block, 0, unit.scope_c)
    loops = _tile(sch, matmul, clusters, cores, divide_columns=staged == "a")
    sram = sample_buffers(sch) if staged else None
    local = sample_buffers(sch)
    sch.reverse_compute_at(copy_out, loops.j1)
    if not inline_epilogue(sch, copy_out):
        return None
    for operand, (letter, scope) in enumerate((("a", unit.scope_a), ("b", unit.scope_b))):
        copy = sch.cache_read(matmul.block, operand, scope)
        outer = sch.cache_read(copy, 0, "shared.sram") if letter in staged else copy
        if not inline_views(sch, outer):
            return None
        sch.compute_at(copy, loops.k1)
        annotate_buffers(sch, copy, local)
        if letter in staged:
            sch.compute_at(outer, loops.k0)
            annotate_buffers(sch, outer, sram)
    annotate_buffers(sch, matmul.block, local)
    sch.decompose_reduction(matmul.block, loops.k0)
    sch.tensorize(matmul.tile, unit.name)
    return sch


def _tile(
    sch: Schedule, matmul: MatmulLoops, clusters: int, cores: int, divide_columns: bool
) -> _Loops:
    divided, whole = (matmul.n, matmul.m) if divide_columns else (matmul.m, matmul.n)
    # The core's factor is sampled last since only the last one can be limited.
    d0, d1, d3, core = sch.sample_perfect_tile(divided, 4, cores)
    d0, d1, core, d3 = sch.split(divided, [d0, d1, core, d3])
    w0, w1, w3 = sch.split(whole, sch.sample_perfect_tile(whole, 3))
    k0, k1, k2 = sch.split(matmul.k, sch.sample_perfect_tile(matmul.k, 3))
    (m0, i1, i3), (n0, j1, j3) = (d0, d1, d3), (w0, w1, w3)
    if divide_columns:
        (m0, i1, i3), (n0, j1, j3) = (w0, w1, w3), (d0, d1, d3)
    sch.reorder(*matmul.batch, m0, n0, core, i1, j1, k0, k1, i3, j3, k2)
    deal_blocks(sch, sch.fuse(*matmul.batch, m0, n0), clusters)
    sch.bind(core, "threadIdx.x")
    return _Loops(j1, k0, k1)
