"""What one warp-wide access costs, exactly over its 32 lanes: coalescing and bank conflicts.

A **pattern** is five whole numbers: width in bytes of one access of one thread, thread run, two
strides in bytes, and threads of a block.  Thread ``t`` touches ``(t % run) * stride1 + (t // run) *
stride2`` bytes from the base.

Shared memory (32 banks of 4 B): a request of 8 B a lane is served by half-warps, one of 16 B by
quarter-warps; neighbours merge where lanes ``t`` and ``t ^ 1`` (or ``t ^ 2``) read one address.  A
group takes as many wavefronts as its fullest bank has distinct words.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hwsim.gpu_sm.chip import BANK_BYTES, BANKS, LINE_BYTES, SECTOR_BYTES, WARP

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PHASES = 8  # warps that are averaged where the thread run does not divide a warp evenly
_FAR = float(1 << 40)  # longest stride: the product with a thread number must not wrap
_MOST_KNOWN = 1 << 16


def evaluate(columns: Floats) -> Floats:
    """``(4, n)`` of patterns ``(5, n)``: distinct sectors and lines, wavefronts, and wavefronts
    of an L1 hit (half- and quarter-warps never merge).
    """
    keys = np.minimum(columns, _FAR).astype(np.int64).T
    out = np.ones((4, len(keys)))
    run = np.maximum(keys[:, 1], 1)
    even = (WARP % run == 0) | (run % WARP == 0)
    for mask, phases in ((even, 1), (~even, PHASES)):
        for part in np.array_split(np.flatnonzero(mask), mask.sum() // 4096 + 1):
            if len(part):
                out[:, part] = _warps(keys[part], phases)
    return out


def _warps(keys: Ints, phases: int) -> Floats:
    """``(4, n)``: sectors, lines, both wavefronts, averaged over ``phases`` warps."""
    width, run, step1, step2, threads = (c[:, None, None] for c in keys.T)
    t = np.arange(phases)[None, :, None] * WARP + np.arange(WARP)
    run = np.maximum(run, 1)
    start = (t % run) * step1 + (t // run) * step2  # (n, phases, 32)
    active = t < np.maximum(threads, 1)
    start = np.where(active, start, start[:, :, :1])
    used = active.any(axis=2)
    sectors = _count_blocks(start, width, SECTOR_BYTES)
    lines = _count_blocks(start, width, LINE_BYTES)
    waves = _wavefronts(start, width[:, 0, 0], merge=True)
    apart = _wavefronts(start, width[:, 0, 0], merge=False)
    weight = used / used.sum(axis=1, keepdims=True)
    return np.stack([(v * weight).sum(axis=1) for v in (sectors, lines, waves, apart)])


def _count_blocks(start: Ints, width: Ints, size: int) -> Ints:
    """Distinct aligned blocks of ``size`` bytes that each warp touches, ``(n, phases)``."""
    ends = np.concatenate([start // size, (start + width - 1) // size], axis=2)
    ends.sort(axis=2)
    return 1 + np.asarray((np.diff(ends, axis=2) > 0).sum(axis=2))


def _wavefronts(start: Ints, width: Ints, merge: bool) -> Floats:
    out = np.ones(start.shape[:2])
    for bytes_ in np.unique(width):
        rows = width == bytes_
        out[rows] = _wavefronts_of_width(start[rows], int(bytes_), merge)
    return out


def _wavefronts_of_width(start: Ints, width: int, merge: bool) -> Floats:
    words = max(width // BANK_BYTES, 1)
    word = start[..., None] // BANK_BYTES + np.arange(words)  # (n, phases, 32, words)
    if words == 1:
        return _fullest_bank(word)
    half = WARP // 2 if words == 2 else WARP // 4  # lanes of one pass
    apart = _passes(word, half)
    if not merge:
        return apart
    lane = np.arange(WARP)
    same = [(start == start[:, :, lane ^ bit]).all(axis=2) for bit in (1, 2)]
    return np.where(same[0] | same[1], _passes(word, 2 * half), apart)


def _passes(word: Ints, lanes: int) -> Floats:
    """Wavefronts where ``lanes`` lanes are served at a time."""
    groups = [_fullest_bank(word[:, :, i : i + lanes]) for i in range(0, WARP, lanes)]
    return np.asarray(np.sum(groups, axis=0))


def _fullest_bank(word: Ints) -> Floats:
    """Most distinct words in one bank, for groups ``(n, phases, lanes, words)``."""
    n, phases = word.shape[:2]
    flat = np.sort(word.reshape(n * phases, -1), axis=1)
    new = np.concatenate([np.ones((len(flat), 1), bool), np.diff(flat, axis=1) > 0], axis=1)
    slot = np.arange(len(flat))[:, None] * BANKS + flat % BANKS
    counts = np.bincount(slot[new], minlength=len(flat) * BANKS).reshape(-1, BANKS)
    return np.asarray(counts.max(axis=1).reshape(n, phases), dtype=np.float64)


@lru_cache(_MOST_KNOWN)
def pattern(*key: float) -> list[float]:
    """What :func:`evaluate` says of one pattern."""
    whole = [int(min(x, _FAR)) for x in key]
    return _one_warp(*whole) or evaluate(np.array([key]).T)[:, 0].tolist()


def _one_warp(width: int, run: int, step1: int, step2: int, threads: int) -> list[float] | None:
    """What :func:`_warps` says of one pattern, sooner; None where several warps are averaged."""
    run, live = max(run, 1), min(max(threads, 1), WARP)
    if WARP % run and run % WARP:
        return None
    start = [t % run * step1 + t // run * step2 for t in range(live)]
    start += start[:1] * (WARP - live)
    ends = start + [s + width - 1 for s in start]
    words = max(width // BANK_BYTES, 1)
    lanes = WARP if words == 1 else WARP // 2 if words == 2 else WARP // 4  # of one pass
    apart = together = _one_after_another(start, words, lanes)
    if words > 1 and (_pairs_agree(start, 1) or _pairs_agree(start, 2)):
        together = _one_after_another(start, words, 2 * lanes)
    blocks = (len({end // size for end in ends}) for size in (SECTOR_BYTES, LINE_BYTES))
    return [*map(float, blocks), together, apart]


def _pairs_agree(start: list[int], bit: int) -> bool:
    return all(s == start[t ^ bit] for t, s in enumerate(start))


def _one_after_another(start: list[int], words: int, lanes: int) -> float:
    """Wavefronts of groups of ``lanes``: each takes as many as its fullest bank has words."""
    passes = 0
    for i in range(0, WARP, lanes):
        touched = {s // BANK_BYTES + w for s in set(start[i : i + lanes]) for w in range(words)}
        passes += max(Counter([word % BANKS for word in touched]).values())
    return float(passes)
