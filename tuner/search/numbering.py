"""Every candidate of a design space as a number: what is walked in order, or kept as a table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tuner.search.space import Pool, SketchSpace

Ranks = NDArray[np.int64]


@dataclass(frozen=True)
class Numbering:
    """Numbers ``0 .. size - 1`` of the candidates of some sketches: sketch by sketch, within one
    the last decision fastest.
    """

    spaces: tuple[SketchSpace, ...]

    @cached_property
    def edges(self) -> list[int]:
        """First number of each sketch, and ``size`` as the last one."""
        out = [0]
        for space in self.spaces:
            out.append(out[-1] + space.size)
        return out

    @property
    def size(self) -> int:
        """Number of candidates."""
        return self.edges[-1]

    def pool(self, ranks: Ranks) -> Pool:
        """The candidates of ascending ``ranks`` ``(n,)``; they keep their order."""
        parts = []
        for s, space in enumerate(self.spaces):
            low, high = np.searchsorted(ranks, (self.edges[s], self.edges[s + 1]))
            parts.append(space.unrank(ranks[low:high] - self.edges[s]))
        return Pool(tuple(parts))

    def ranks(self, pool: Pool) -> Ranks:
        """``(n,)`` numbers of a pool's candidates in its order, -1 for those outside."""
        parts = [np.empty(0, dtype=np.int64)]
        for edge, space, rows in zip(self.edges, self.spaces, pool.matrices, strict=False):
            found = space.rank(rows)
            parts.append(np.where(found < 0, -1, found + edge))
        return np.concatenate(parts)
