"""Sketches for a vector unit with one scratchpad (Ascend's UB, the MLU's NRAM).

The program becomes one kernel: cores | tiles in turn | stages.  For each tile of the output every
stage (a reduction, or a value used twice) is computed into the scratchpad:

- ``resident``: whole rows are copied in once and serve all stages,
- ``streamed``: every stage copies its inputs in again, chunk by chunk, so that any row fits.

A dimension that every stage has (the rows of a softmax) is tiled over cores and turns; one that
some stage reduces over is at most cut into chunks.  Dimensions are tiled one by one and never fused
first: ``compute_at`` under a tile of a fused loop takes its rectangular hull and goes wrong.
"""

from __future__ import annotations

from typing import Any

from tvm.s_tir import Schedule

from tuner.spaces.common import annotate_buffers, sample_buffers
from tuner.spaces.stages import (
    blocks,
    has_static_region,
    inline_elementwise,
    is_output,
    is_reduction,
    parallel_dims,
)
from tuner.spaces.vector_tiles import MAX_INNERMOST, Tiles, VectorUnit, tile_output


def sketches(sch: Schedule, unit: VectorUnit) -> list[Schedule]:
    """The sketches of the program in ``sch``, which stays as it is.

    A program with several outputs becomes one kernel a block.
    """
    program = blocks(sch)
    if sum(is_output(sch, block) for block in program) > 1:
        return [_separate(sch.copy(), unit)]
    made = [_fused(sch.copy(), unit, streamed=False)]
    if any(is_reduction(block) for block in program):
        made.append(_fused(sch.copy(), unit, streamed=True))
    return made


def _fused(sch: Schedule, unit: VectorUnit, streamed: bool) -> Schedule:
    inline_elementwise(sch, keep_shared=not streamed)
    *stages, output = blocks(sch)
    _kernel(sch, stages, output, unit, streamed)
    return sch


def _separate(sch: Schedule, unit: VectorUnit) -> Schedule:
    inline_elementwise(sch, keep_shared=False)
    for block in blocks(sch):
        _kernel(sch, [], block, unit, streamed=True)
    return sch


def _kernel(
    sch: Schedule, stages: list[Any], output: Any, unit: VectorUnit, streamed: bool
) -> None:
    parallel = parallel_dims(stages, output)
    placed = [sch.get_sblock(block.name_hint) for block in (output, *reversed(stages))]
    for block in placed[1:]:
        sch.set_scope(block, 0, unit.scope)
    copies = [_copies_in(sch, block, unit.scope, streamed) for block in placed]
    tiles = tile_output(sch, sch.cache_write(placed[0], 0, unit.scope), parallel, unit, streamed)
    buffers = sample_buffers(sch)
    annotate_buffers(sch, placed[0], buffers)
    for block in placed:
        at = tiles.chunk if block is placed[0] else tiles.place
        sch.compute_at(block, at, preserve_unit_loops=True)
    for block, inputs in zip(placed, copies, strict=True):
        at = _arrange(sch, block, tiles, block is placed[0], streamed)
        for copy in inputs:
            sch.compute_at(copy, at)
            annotate_buffers(sch, copy, buffers)


def _arrange(sch: Schedule, block: Any, tiles: Tiles, is_output: bool, streamed: bool) -> Any:
    """Order and vectorise the loops of a placed block; the loop to copy its inputs at."""
    at = tiles.chunk if is_output else tiles.place
    own = sch.get_loops(block)[tiles.chunk_depth if is_output else tiles.place_depth :]
    iters = sch.get(block).iter_vars
    spatial = [loop for loop, it in zip(own, iters, strict=True) if it.iter_type != it.CommReduce]
    reduction = [loop for loop, it in zip(own, iters, strict=True) if it.iter_type == it.CommReduce]
    steps: list[Any] = []
    if reduction and streamed:
        *steps, last = reduction
        at, rest = sch.split(last, sch.sample_perfect_tile(last, 2, MAX_INNERMOST))
        steps, reduction = [*steps, at], [rest]
    lanes: list[Any] = []
    if is_output and spatial:
        spatial[-1], vector = sch.split(spatial[-1], [None, tiles.lanes])
        lanes = [vector]
    if reduction:
        sch.reorder(*steps, *spatial, *reduction, *lanes)
    for loop in lanes:
        sch.vectorize(loop)
    return at


def _copies_in(sch: Schedule, block: Any, scope: str, per_block: bool) -> list[Any]:
    """Copies of what ``block`` reads from global memory; ``per_block``: shared with nobody.

    What is read at an index that is itself data (a gather) stays in global memory.
    """
    node = sch.get(block)
    return [
        sch.cache_read(block, i, scope, [block] if per_block else None)
        for i, read in enumerate(list(node.reads))
        if read.source.scope() == "global" and has_static_region(node, read)
    ]
