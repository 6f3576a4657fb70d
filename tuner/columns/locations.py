"""Where SampleComputeLocation puts a block: the places that TVM finds, row by row.

The loops of a program depend on the locations that are taken, and which ones are there to be taken
depends on tile factors: a loop of one iteration is none, and TVM silently takes the next one
outwards (source: CollectComputeLocation and SampleComputeLocation, src/s_tir/schedule).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tuner.columns.context import Context
from tuner.columns.evaluate import Plan
from tuner.columns.expr import Expr
from tuner.columns.loops import extent_of
from tuner.columns.program import Block, Loop, Unsupported
from tuner.decisions import IntColumn, IntMatrix

INLINE, ROOT = -2, -1


@dataclass(frozen=True)
class Places:
    """Loops that a block may be computed at, outermost first: extents, and which ones reduce."""

    extents: tuple[Expr, ...]
    reduces: tuple[bool, ...]
    inline: bool

    def taken(self, asked: IntColumn, matrix: IntMatrix) -> IntColumn:
        """The location ``(n,)`` that TVM takes where ``asked`` is wanted: it, or the next one
        outwards that is there; the root where there is none.
        """
        columns = self._plan(matrix)
        last = max((i for i, r in enumerate(self.reduces) if not r), default=-1)
        out = np.full(len(asked), ROOT, dtype=np.int64)
        if self.inline:
            out[asked == INLINE] = INLINE
        going, reducing = np.ones(len(asked), dtype=bool), np.zeros(len(asked), dtype=bool)
        for i, (extent, reduces) in enumerate(zip(self.extents, self.reduces, strict=True)):
            loop = columns[extent] != 1
            stops = loop & (i > last if reduces else reducing)
            going = going & ~stops
            reducing = reducing | (loop & reduces)
            out[going & loop & (asked >= i)] = i
        return out

    @cached_property
    def _plan(self) -> Plan:
        return Plan(self.extents)


def places(ctx: Context, block: Block) -> Places:
    """The places of a block as the program stands."""
    loops = _loops(ctx, block)
    return Places(
        extents=tuple(extent_of(loop) for loop in loops),
        reduces=tuple(any(d.reduction for d in loop.digits) for loop in loops),
        inline=not any(axis.reduction for axis in block.axes),
    )


def at(ctx: Context, block: Block, location: int) -> Loop | int:
    """What the instruction's random variable stands for: a loop, or INLINE or ROOT itself."""
    return location if location < 0 else _loops(ctx, block)[location]


def _loops(ctx: Context, block: Block) -> list[Loop]:
    """Loops around all consumers of a block, outermost first; none where they share none."""
    written = block.writes[0].buffer
    consumers = [b for b in ctx.program.readers(written) if b is not block]
    if len(block.writes) != 1 or not consumers:
        raise Unsupported(f"block {block.name}: no consumer to be computed at")
    chains = [b.ancestors()[::-1] for b in consumers]
    return [
        loop
        for depth, loop in enumerate(chains[0])
        if all(len(c) > depth and c[depth] is loop for c in chains)
    ]
