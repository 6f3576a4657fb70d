"""Warp patterns that have been evaluated, found by 64-bit hashes of whole columns of them.

A space has few distinct patterns, in many batches: each is evaluated once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hwsim.gpu_sm.chip import LINE_BYTES, SECTOR_BYTES
from hwsim.gpu_sm.warp import evaluate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.uint64]

Lanes = tuple[Floats, Floats, Floats, Floats]  # width in bytes, thread run, the two strides

_LEAST_BITS = 16  # of the number of slots
_MOST_KNOWN = 1 << 16  # more are forgotten before the next batch
_EMPTY = 0  # code of a slot without a pattern
# Of the columns of a pattern; odd, so that multiplication by one of them is one to one.
_WIDTH, _RUN, _STEP1, _STEP2, _THREADS = (
    0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93,
    0xA0761D6478BD642F,
)  # fmt: skip


class KnownPatterns:
    """A hash table with open addressing.

    ``values`` is ``(5, slots)``: the four of :func:`hwsim.gpu_sm.warp.evaluate`, and the bytes of
    the lines over those of the sectors.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Know nothing again."""
        self._used = 0
        self._make_room(_LEAST_BITS)

    def find(self, asked: Sequence[Lanes], threads: Floats) -> list[Ints]:
        """Columns of ``values`` for accesses of blocks of ``threads`` ``(n,)``."""
        if self._used > _MOST_KNOWN:
            self.forget()
        codes = _codes(asked, threads)
        found = [self._slots(c) for c in codes]
        new: dict[int, Floats] = {}
        for lanes, code, (_, unknown) in zip(asked, codes, found, strict=True):
            if len(unknown):
                numbers, first = np.unique(code[unknown], return_index=True)
                columns = [np.broadcast_to(c, len(code)) for c in (*lanes, threads)]
                patterns = np.stack([c[unknown[first]] for c in columns], axis=1)
                new |= zip(numbers.tolist(), patterns, strict=True)
        if new:
            self._learn(list(new), evaluate(np.stack(list(new.values()), axis=1)))
            found = [self._slots(c) for c in codes]
        return [slots for slots, _ in found]

    def _slots(self, codes: Codes) -> tuple[Ints, Ints]:
        """``(slots, unknown)``: where each code is, or would go, and the rows that are nowhere."""
        slots = (codes >> self._shift).view(np.int64)
        unknown = []
        elsewhere = np.flatnonzero(self._codes.take(slots, mode="clip") != codes)
        while len(elsewhere):
            empty = self._codes[slots[elsewhere]] == _EMPTY
            unknown.append(elsewhere[empty])
            elsewhere = elsewhere[~empty]
            slots[elsewhere] = (slots[elsewhere] + 1) % len(self._codes)
            elsewhere = elsewhere[self._codes[slots[elsewhere]] != codes[elsewhere]]
        return slots, np.concatenate(unknown) if unknown else elsewhere

    def _learn(self, codes: list[int], values: Floats) -> None:
        while 2 * (self._used + len(codes)) > len(self._codes):
            self._grow()
        sectors, lines = values[:2]
        self._insert(codes, np.vstack([values, lines * LINE_BYTES / (sectors * SECTOR_BYTES)]))

    def _grow(self) -> None:
        taken = np.flatnonzero(self._codes)
        codes, values = self._codes[taken], self.values[:, taken]
        self._used = 0
        self._make_room(self._bits + 1)
        self._insert(codes.tolist(), values)

    def _make_room(self, bits: int) -> None:
        """New arrays: who has been answered holds the old ones."""
        self._bits, self._shift = bits, np.uint64(64 - bits)
        self._codes = np.full(1 << bits, _EMPTY, dtype=np.uint64)
        self.values = np.empty((5, 1 << bits))

    def _insert(self, codes: list[int], values: Floats) -> None:
        for code, column in zip(codes, values.T, strict=True):
            slot = code >> (64 - self._bits)
            while self._codes[slot] != _EMPTY:
                slot = (slot + 1) % len(self._codes)
            self._codes[slot], self.values[:, slot] = code, column
        self._used += len(codes)


def _codes(asked: Sequence[Lanes], threads: Floats) -> list[Codes]:
    """64-bit hashes of patterns, ``(n,)`` each."""
    block = _mixed(threads, _THREADS)
    heads: dict[tuple[int, int], Codes] = {}  # the two sides of a staging stream have one
    codes = []
    for width, run, step1, step2 in asked:
        key = id(width), id(run)
        if key not in heads:
            heads[key] = _sum(block, _mixed(width, _WIDTH), _mixed(run, _RUN))
        codes.append(_sum(heads[key], _mixed(step1, _STEP1), _mixed(step2, _STEP2)))
    return codes


def _mixed(column: Floats, factor: int) -> Codes:
    """A column's term of the hashes."""
    bits = column.view(np.uint64)
    term = bits >> np.uint64(32)  # small whole numbers have their bits at the top
    term ^= bits
    term *= np.uint64(factor)
    return term


def _sum(kept: Codes, *terms: Codes) -> Codes:
    """The sum, in the place of the longest term where it is as long as ``kept``."""
    shorter, longest = sorted(terms, key=len)
    longest += shorter
    return np.add(kept, longest, out=longest if len(longest) >= len(kept) else None)
