"""Ascend: sketches of a product on the cube.

Loops: block | i1 j1 | k0 | i2 j2 | k1 | i3 j3 k2 | intrinsic.  ``block`` is blockIdx.x, dealt to
the cores; i1 j1 count the output tiles that one block makes in turn, k0 steps through L1,
(i2, j2, k1) through L0.  L0C keeps the whole output tile over k0.  The three sketches differ in
where L1 is filled:

- both operands step by step at k0,
- A once for the full reduction (reused over j1), B at k0,
- B once for the full reduction (reused over i1), A at k0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm.s_tir import Schedule

from tuner.spaces.common import annotate_buffers, deal_blocks, sample_buffers
from tuner.spaces.intrinsics import MatrixUnit
from tuner.spaces.matmul_like import MatmulLoops, as_matmul, inline_epilogue, inline_views

RESIDENT = ("none", "a", "b")  # the operand that L1 holds for the full reduction


@dataclass(frozen=True)
class _Loops:
    i1: Any
    j1: Any
    k0: Any
    k1: Any


def sketches(sch: Schedule, name: str, unit: MatrixUnit, cores: int) -> list[Schedule]:
    """The three sketches of block ``name``; none where the cube cannot compute it.

    ``cores`` is how many cube cores the chip has.
    """
    made = [_sketch(sch.copy(), name, unit, resident, cores) for resident in RESIDENT]
    return [sketch for sketch in made if sketch is not None]


def _sketch(
    sch: Schedule, name: str, unit: MatrixUnit, resident: str, cores: int
) -> Schedule | None:
    matmul = as_matmul(sch, name, unit)
    if matmul is None:
        return None
    copy_out = sch.cache_write(matmul.block, 0, unit.scope_c)
    loops = _tile(sch, matmul, resident, cores)
    l1, l0, l0c = (sample_buffers(sch) for _ in range(3))
    sch.reverse_compute_at(copy_out, loops.j1 if resident != "b" else loops.i1)
    if not inline_epilogue(sch, copy_out):
        return None
    outer = {"a": loops.i1, "b": loops.j1}
    for operand, (letter, scope) in enumerate((("a", unit.scope_a), ("b", unit.scope_b))):
        copy_l0 = sch.cache_read(matmul.block, operand, scope)
        copy_l1 = sch.cache_read(copy_l0, 0, "shared.l1")
        if not inline_views(sch, copy_l1):
            return None
        sch.compute_at(copy_l0, loops.k1)
        sch.compute_at(copy_l1, outer[letter] if resident == letter else loops.k0)
        annotate_buffers(sch, copy_l1, l1)
        annotate_buffers(sch, copy_l0, l0)
    annotate_buffers(sch, matmul.block, l0c)
    sch.decompose_reduction(matmul.block, loops.k0)
    sch.tensorize(matmul.tile, unit.name)
    return sch


def _tile(sch: Schedule, matmul: MatmulLoops, resident: str, cores: int) -> _Loops:
    m0, i1, i2, i3 = sch.split(matmul.m, sch.sample_perfect_tile(matmul.m, 4))
    n0, j1, j2, j3 = sch.split(matmul.n, sch.sample_perfect_tile(matmul.n, 4))
    k0, k1, k2 = sch.split(matmul.k, sch.sample_perfect_tile(matmul.k, 3))
    turns = (j1, i1) if resident == "b" else (i1, j1)
    sch.reorder(*matmul.batch, m0, n0, *turns, k0, i2, j2, k1, i3, j3, k2)
    deal_blocks(sch, sch.fuse(*matmul.batch, m0, n0), cores)
    return _Loops(i1, j1, k0, k1)
