"""Cooperative copies: a tile that all threads of a block fetch together.

Before the postprocessor it is one loop over the tile and a block annotation with the vector width
``v``; RewriteCooperativeFetch splits that loop by ``[None, T, v]`` and binds the middle to
threadIdx (to threadIdx.y and threadIdx.x in tensor-core sketches), under the loops that already
have that threadIdx.  Either way the analysis wants the loop over the whole tile back.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from tvm import prim

from tuner.tir.affine import Joined, Unsupported
from tuner.tir.walk import Block, Loop

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
    threads = block.loops[len(loops) : end]
    around = {loop.kind for loop in loops}
    if not loops or loops[-1].kind != "serial" or not any(t.kind in around for t in threads):
        return None
    serial = loops.pop()
    return _joined(block, tuple(loops), (serial, *block.loops[len(loops) + 1 :]), lanes)


def _joined(
    block: Block, outer: tuple[Loop, ...], parts: tuple[Loop, ...], lanes: int
) -> Cooperative:
    ratios, below = [], 1
    for loop in reversed(parts):
        ratios.append((loop.name, below))
        below *= loop.extent
    joined = Joined(f"{parts[0].name}.tile", tuple(reversed(ratios)))
    extent = _bound(block.realize.predicate, prod(loop.extent for loop in parts))
    return Cooperative(outer, joined.name, extent, lanes, joined)


def _bound(predicate: Any, full: int) -> int:
    """Extent of the tile: the bound of the guard ``index < extent``, else all of the loops."""
    if isinstance(predicate, prim.IntImm):
        return full
    if isinstance(predicate, prim.LT) and isinstance(predicate.b, prim.IntImm):
        return int(predicate.b.value)
    raise Unsupported(f"guard {predicate} of a cooperative copy")
