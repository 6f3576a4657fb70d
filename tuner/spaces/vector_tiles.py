"""How the vector sketches cut the output into tiles for cores, turns and vector loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tvm.s_tir import Schedule

from tuner.spaces.common import deal_blocks

MAX_INNERMOST = 4096  # elements: no limit of the hardware, but a tile is to fit a scratchpad
MAX_LANES = 512  # elements that one vector loop covers at most


@dataclass(frozen=True)
class VectorUnit:
    """``scope`` of the scratchpad; ``cores`` of the chip, or its clusters of so many cores each."""

    scope: str
    cores: int
    cores_per_cluster: int | None = None


@dataclass(frozen=True)
class Tiles:
    """Loop ``place`` encloses a tile and ``chunk`` a chunk of it; the depths count loops around.

    ``lanes`` is the sampled length of the vector loop along the last dimension.
    """

    place: Any
    place_depth: int
    chunk: Any
    chunk_depth: int
    lanes: Any


@dataclass
class _Loops:
    blocks: list[Any] = field(default_factory=list)
    cores: list[Any] = field(default_factory=list)
    turns: list[Any] = field(default_factory=list)
    chunks: list[Any] = field(default_factory=list)
    inner: list[Any] = field(default_factory=list)
    lanes: Any = None


def tile_output(
    sch: Schedule, copy_out: Any, parallel: list[bool], unit: VectorUnit, streamed: bool
) -> Tiles:
    """Tile ``copy_out``: blocks | cores | turns | chunks | rest, and bind blocks and cores.

    A parallel dimension is cut into block, (core,) turn and rest, another one into chunk and rest
    where the sketch is ``streamed``; the last dimension's rest ends in a loop of ``lanes``.
    """
    if not any(parallel):
        sch.add_unit_loop(sch.get_loops(copy_out)[0] if parallel else copy_out)
        parallel = [True, *parallel]
    loops = sch.get_loops(copy_out)
    clustered = _longest(sch, loops, parallel) if unit.cores_per_cluster else None
    cut = _Loops()
    for dim, loop in enumerate(loops):
        last = dim == len(loops) - 1
        if parallel[dim]:
            _cut_parallel(
                sch, loop, cut, last, unit.cores_per_cluster if dim == clustered else None
            )
        else:
            _cut_row(sch, loop, cut, last, streamed)
    return _bind(sch, cut, unit.cores)


def _longest(sch: Schedule, loops: list[Any], parallel: list[bool]) -> int:
    extents = [
        int(sch.get(loop).extent) if p else 0 for loop, p in zip(loops, parallel, strict=True)
    ]
    return extents.index(max(extents))


def _cut_parallel(sch: Schedule, loop: Any, cut: _Loops, last: bool, cores: int | None) -> None:
    factors = list(
        sch.sample_perfect_tile(loop, 3 + last + (cores is not None), cores or MAX_LANES)
    )
    if cores is not None:
        # Sampled last since only the last factor can be limited; placed behind the block.
        factors.insert(1, factors.pop())
    parts = list(sch.split(loop, factors))
    cut.blocks.append(parts.pop(0))
    if cores is not None:
        cut.cores.append(parts.pop(0))
    cut.turns.append(parts.pop(0))
    cut.inner += parts
    cut.lanes = factors[-1]


def _cut_row(sch: Schedule, loop: Any, cut: _Loops, last: bool, streamed: bool) -> None:
    if not last and not streamed:
        cut.inner.append(loop)
        return
    limit = MAX_LANES if last else MAX_INNERMOST
    factors = list(sch.sample_perfect_tile(loop, 1 + last + streamed, limit))
    parts = list(sch.split(loop, factors))
    if streamed:
        cut.chunks.append(parts.pop(0))
    cut.inner += parts
    cut.lanes = factors[-1]


def _bind(sch: Schedule, cut: _Loops, cores: int) -> Tiles:
    sch.reorder(*cut.blocks, *cut.cores, *cut.turns, *cut.chunks, *cut.inner)
    deal_blocks(sch, sch.fuse(*cut.blocks), cores)
    for core in cut.cores:
        sch.bind(core, "threadIdx.x")
    depth = 1 + len(cut.cores) + len(cut.turns)
    return Tiles(
        place=cut.turns[-1],
        place_depth=depth,
        chunk=(cut.chunks or cut.turns)[-1],
        chunk_depth=depth + len(cut.chunks),
        lanes=cut.lanes,
    )
