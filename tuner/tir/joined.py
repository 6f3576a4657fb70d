"""Cooperative copies: a tile that all threads of a block fetch together.

Before the postprocessor it is one loop over the tile and a block annotation with the vector width
``v``; RewriteCooperativeFetch splits that loop by ``[None, T, v]`` and binds the middle to
threadIdx (to threadIdx.y and threadIdx.x in tensor-core sketches) and the last to lanes.  Such a
nest of a fused loop around a block between global and shared memory that reduces nothing is taken
for one.  Either way the analysis wants the loop over the whole tile back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm import prim

from tuner.tir.affine import evaluate
from tuner.tir.radix import NO_CUTS, Form, Joined, Unsupported
from tuner.tir.walk import REDUCTION, Block, Loop

_ANNOTATION = "meta_schedule.cooperative_fetch"


@dataclass(frozen=True)
class Cooperative:
    """``outer`` loops around the copy; ``tile`` digit name and extent; vector ``lanes``."""

    outer: tuple[Loop, ...]
    tile: str
    extent: int
    lanes: int
    joined: Joined | None


def cooperative(block: Block) -> Cooperative | None:
    """The cooperative copy a block is, or None."""
    width = block.block.annotations.get(_ANNOTATION)
    if width is not None:
        return _annotated(block, int(width))
    return _rewritten(block)


def _annotated(block: Block, width: int) -> Cooperative:
    tile = block.loops[-1]
    lanes = width if tile.extent % width == 0 else 1
    return Cooperative(block.loops[:-1], tile.name, tile.extent, lanes, None)


def _rewritten(block: Block) -> Cooperative | None:
    loops = list(block.loops)
    lanes = loops.pop().extent if loops and loops[-1].kind == "vectorize" else 1
    end = len(loops)
    while loops and loops[-1].kind.startswith("threadIdx"):
        loops.pop()
    bound = len(loops) < end
    if not bound or not loops or not _tiled(loops[-1]) or not _between(block.block):
        return None
    serial = loops.pop()
    return _joined(block, tuple(loops), (serial, *block.loops[len(loops) + 1 :]), lanes)


def _tiled(loop: Loop) -> bool:
    return loop.kind == "serial" and "_fused" in loop.name


def _between(block: Any) -> bool:
    """Whether a block copies from global to shared memory, or the other way round."""
    if any(axis.iter_type == REDUCTION for axis in block.iter_vars):
        return False
    to = str(block.writes[0].source.scope())
    sources = {str(r.source.scope()).partition(".")[0] for r in block.reads}
    return (
        "shared" in sources if to == "global" else to.startswith("shared") and "global" in sources
    )


def _joined(
    block: Block, outer: tuple[Loop, ...], parts: tuple[Loop, ...], lanes: int
) -> Cooperative:
    ratios, below = [], 1
    for loop in reversed(parts):
        ratios.append((loop.name, below))
        below *= loop.extent
    joined = Joined(f"{parts[0].name}.tile", tuple(reversed(ratios)))
    extent = _bound(block.realize.predicate, parts, joined) or below
    return Cooperative(outer, joined.name, extent, lanes, joined)


def _bound(guard: Any, parts: tuple[Loop, ...], joined: Joined) -> int | None:
    """Extent of the tile from a guard ``index < extent``; None where there is no such guard.

    The guard may also hold conditions on the edges of the tensor, which do not end the tile.
    """
    if isinstance(guard, prim.And):
        return _bound(guard.a, parts, joined) or _bound(guard.b, parts, joined)
    if not isinstance(guard, prim.LT) or not isinstance(guard.b, prim.IntImm):
        return None
    env = {loop.variable: Form(0, {loop.name: 1}) for loop in parts}
    try:
        index = evaluate(guard.a, env, NO_CUTS).terms
    except Unsupported:
        return None
    whole = all(index.get(p.name) == dict(joined.parts)[p.name] for p in parts if p.extent > 1)
    return int(guard.b.value) if whole else None
