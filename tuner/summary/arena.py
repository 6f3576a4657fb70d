"""Size of the arena that dynamic shared buffers are merged into.

A new buffer takes the smallest free entry that is at least as large and at most 16 times as large.
Else TVM's StorageRewrite lets a smaller free entry grow: the largest one of the buffer's element
type, if it is no less than a sixteenth.  What is left, MergeSharedMemoryAllocations puts over the
smaller free entries, from the largest one on until they are enough; where there are none, the
buffer has an entry of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tuner.nest import IntColumn
from tuner.summary.pointwise import pointwise

_MATCH_RANGE = 16


@dataclass(frozen=True)
class Lifetime:
    """A buffer of ``size`` ``(n,)`` bytes, alive in the moments of ``life``."""

    size: IntColumn
    life: range
    dtype: str


def arena_bytes(buffers: Sequence[Lifetime], n: int) -> IntColumn:
    """Bytes of the arena, columns ``(n,)``."""
    if not buffers:
        return np.zeros(n, dtype=np.int64)
    layout = _laid_out(tuple(b.life for b in buffers), tuple(b.dtype for b in buffers))
    return layout(*(b.size for b in buffers))


@cache  # one function for the same lives: a call that is recorded twice is one call
def _laid_out(lives: tuple[range, ...], dtypes: tuple[str, ...]) -> Callable[..., IntColumn]:
    """The arena of buffers with these lives and element types, as a function of their sizes."""

    @pointwise
    def arena(*sizes: IntColumn) -> IntColumn:
        sizes = np.broadcast_arrays(*sizes)
        arena = _Arena(len(sizes[0]), dtypes)
        for moment in sorted({life.start for life in lives}):
            for i, life in enumerate(lives):
                if life.stop <= moment:
                    arena.release(i)
            for i, (life, size) in enumerate(zip(lives, sizes, strict=True)):
                if life.start == moment:
                    arena.take(i, size)
        return np.asarray(arena.size.sum(axis=1))

    return arena


class _Arena:
    """Entries ``(n, entries)``: size in bytes (0: none), free or not, and who holds which; each
    buffer makes at most one, with its own number.
    """

    def __init__(self, n: int, dtypes: Sequence[str]) -> None:
        entries = len(dtypes)
        self._alike = np.array([[a == b for b in dtypes] for a in dtypes])
        self.size = np.zeros((n, entries), dtype=np.int64)
        self.free = np.zeros((n, entries), dtype=bool)
        self._holds = np.zeros((n, entries, entries), dtype=bool)  # row, buffer, entry
        self._rows = np.arange(n)

    def release(self, buffer: int) -> None:
        self.free |= self._holds[:, buffer]
        self._holds[:, buffer] = False

    def take(self, buffer: int, size: IntColumn) -> None:
        """Let a buffer have room."""
        large, entry = self._larger(size)
        joined = self._smaller(size, self._alike[buffer]) & ~large[:, None]
        total = np.maximum((self.size * joined).sum(axis=1), size)
        self.size = np.where(joined, 0, self.size)
        self.free &= ~joined
        self.size[:, buffer] = np.where(large, self.size[:, buffer], total)
        holder = np.where(large, entry, buffer)
        self.free[self._rows, holder] = False
        self._holds[self._rows, buffer, holder] = True

    def _larger(self, size: IntColumn) -> tuple[NDArray[np.bool_], IntColumn]:
        """Whether a larger free entry fits, and the smallest of those."""
        need = size[:, None]
        fits = self.free & (self.size >= need) & (self.size <= _MATCH_RANGE * need)
        candidates = np.where(fits, self.size, np.iinfo(np.int64).max)
        return np.asarray(fits.any(axis=1)), np.asarray(candidates.argmin(axis=1))

    def _smaller(self, size: IntColumn, alike: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The free entries that a buffer grows over: one of its type, or as many as it takes."""
        usable = np.where(self.free & (self.size < size[:, None]), self.size, 0)
        of_type = usable * alike
        largest = of_type.argmax(axis=1)
        only = np.zeros_like(self.free)
        only[self._rows, largest] = alone = of_type[self._rows, largest] * _MATCH_RANGE >= size
        order = np.argsort(-usable, axis=1, kind="stable")
        descending = np.take_along_axis(usable, order, axis=1)
        before = descending.cumsum(axis=1) - descending
        several = np.empty_like(self.free)
        np.put_along_axis(several, order, before < size[:, None], axis=1)
        return np.where(alone[:, None], only, several & (usable > 0))
