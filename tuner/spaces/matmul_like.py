"""Bringing a block into the form ``C[m, n] += A[m, k] * B[k, n]`` of a matrix unit.

Products, batched products and convolutions become one such block: their iteration spaces are
flattened to (batch.., m, n, k), the operands are read through that view, and extents are padded to
the unit's multiples.  Nothing is copied for it: the views are inlined into the first staging copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm.s_tir import Schedule, ScheduleError
from tvm.s_tir.schedule.analysis import get_auto_tensorize_mapping_info
from tvm.s_tir.schedule.transform import tile_with_tensor_intrin
from tvm.tirx import IndexMap
from tvm.tirx.analysis import undefined_vars

from tuner.spaces.intrinsics import MatrixUnit, register
from tuner.spaces.stages import blocks, is_reduction


@dataclass(frozen=True)
class MatmulLoops:
    """A tiled product: ``block`` and its loops, counted in instructions of the matrix unit.

    ``tile`` is the outermost of the three loops that the intrinsic replaces.
    """

    block: Any
    batch: tuple[Any, ...]
    m: Any
    n: Any
    k: Any
    tile: Any


def main_blocks(sch: Schedule) -> list[str]:
    """Names of the blocks that may be products: two operands, summed over some axis."""
    return [b.name_hint for b in blocks(sch) if is_reduction(b) and len(b.reads) == 2]


def extents(sch: Schedule, name: str, unit: MatrixUnit) -> tuple[int, int, int] | None:
    """``(M, N, K)`` of block ``name`` before padding; None where it is no product."""
    probe = sch.copy()
    block = probe.get_sblock(name)
    index_map = _mapping(probe, block, unit)
    if index_map is None:
        return None
    shape = [it.dom.extent for it in probe.get(block).iter_vars]
    m, n, k = list(index_map.map_shape(shape))[-3:]
    return int(m), int(n), int(k)


def _mapping(sch: Schedule, block: Any, unit: MatrixUnit) -> IndexMap | None:
    info = get_auto_tensorize_mapping_info(sch, block, register(unit))
    return info.mappings[0] if info is not None and info.mappings else None


def as_matmul(sch: Schedule, name: str, unit: MatrixUnit) -> MatmulLoops | None:
    """Rewrite block ``name`` of ``sch`` for ``unit``; None where it is no product.

    Degenerate products, e.g. with a reduction of length 1, have no mapping onto the unit either.
    ``sch`` is of no use after None.
    """
    block = sch.get_sblock(name)
    index_map = _mapping(sch, block, unit)
    if index_map is None:
        return None
    for side, index, roles in (("write", 0, "mn"), ("read", 0, "mk"), ("read", 1, "kn")):
        sch.reindex(block, (side, index))
        view = _operand_map(sch.get(block), side, index, index_map, roles)
        sch.transform_layout(block, (side, index), view, assume_injective_transform=True)
    sch.transform_block_layout(block, index_map)
    if tile_with_tensor_intrin(sch, block, unit.name, True) is None:
        return None
    *batch, m, n, k, tile, _, _ = sch.get_loops(block)
    return MatmulLoops(block, tuple(batch), m, n, k, tile)


def _operand_map(block: Any, side: str, index: int, index_map: IndexMap, roles: str) -> IndexMap:
    """The part of ``index_map`` that concerns one operand: its own variables, its two roles."""
    region = (block.writes if side == "write" else block.reads)[index].region
    by_name = {
        it.var.name: var for it, var in zip(block.iter_vars, index_map.initial_indices, strict=True)
    }
    own = [by_name[r.min.name] for r in region]
    names = {var.name for var in own}
    *batch, m, n, k = index_map.final_indices
    kept = [e for e in batch if {v.name for v in undefined_vars(e)} <= names]
    return IndexMap(own, kept + [{"m": m, "n": n, "k": k}[role] for role in roles], None)


def inline_views(sch: Schedule, copy: Any) -> bool:
    """Inline all producers of a staging copy: padding and views cost nothing of their own.

    False where one of them is more than that, e.g. a reduction.
    """
    try:
        while producers := sch.get_producers(copy):
            sch.compute_inline(producers[0])
    except ScheduleError:
        return False
    return True


def inline_epilogue(sch: Schedule, copy_out: Any) -> bool:
    """Inline all consumers (bias, ReLU, cast, cropping) into the copy that stores the result.

    Call it once the copy stands at its place: placing drops the predicate that cropping leaves.
    False where one of them is more than an elementwise epilogue.
    """
    try:
        while consumers := sch.get_consumers(copy_out):
            sch.reverse_compute_inline(consumers[0])
    except ScheduleError:
        return False
    return True
