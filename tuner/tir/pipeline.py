"""Software pipelines: how many versions of a staged buffer a pipelined loop keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.tir.program import Analysed
from tuner.tir.walk import Loop

_STAGE = "software_pipeline_stage"


@dataclass(frozen=True)
class Pipelined:
    """``versions`` of the written buffer, and the smallest extent of a pipelined loop around."""

    versions: int
    extent: int


def pipelines(blocks: Sequence[Analysed]) -> dict[int, Pipelined]:
    """For the blocks of a kernel, by position, those below a software-pipelined loop."""
    out: dict[int, Pipelined] = {}
    for loop in _annotated(blocks):
        inside = [i for i, b in enumerate(blocks) if loop in b.source.loops]
        stage = _stages(loop, [blocks[i] for i in inside])
        for i, own in zip(inside, stage, strict=True):
            versions = _versions(blocks, i, own, dict(zip(inside, stage, strict=True)))
            before = out.get(i, Pipelined(1, loop.extent))
            out[i] = Pipelined(max(versions, before.versions), min(loop.extent, before.extent))
    return out


def _annotated(blocks: Sequence[Analysed]) -> list[Loop]:
    loops = dict.fromkeys(loop for b in blocks for loop in b.source.loops)
    return [loop for loop in loops if _STAGE in loop.annotations]


def _stages(loop: Loop, blocks: Sequence[Analysed]) -> list[int]:
    """Stage of each block: its place among the children of the loop looks it up."""
    stage = [int(s) for s in loop.annotations[_STAGE]]
    children = [b.source.child[loop.name] for b in blocks]
    places = {child: i for i, child in enumerate(dict.fromkeys(children))}
    return [stage[min(places[c], len(stage) - 1)] for c in children]


def _versions(blocks: Sequence[Analysed], writer: int, own: int, stage_of: dict[int, int]) -> int:
    """One more than the stages between a write and the last read inside the loop.

    A buffer that is also used outside of the loop is no staging buffer and has one version.
    """
    buffer = blocks[writer].write.buffer
    readers = [i for i, b in enumerate(blocks) if any(r.buffer.same_as(buffer) for r in b.reads)]
    if not readers or any(i not in stage_of for i in readers):
        return 1
    return max(1, max(stage_of[i] for i in readers) - own + 1)
