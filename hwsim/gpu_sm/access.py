"""Coalescing and bank conflicts: what one warp-wide access costs, exactly over its 32 lanes.

Thread ``t`` of a block touches ``(t % run) * stride1 + (t // run) * stride2`` bytes from the base,
``lanes * elem_bytes`` wide (see :mod:`hwsim.columns`).  Few distinct patterns occur in a table of
many rows, so each distinct one is evaluated once.

Shared memory (32 banks of 4 B): a request of 8 B a lane is served by half-warps, one of 16 B by
quarter-warps; neighbours merge where lanes ``t`` and ``t ^ 1`` (or ``t ^ 2``) read one address.  A
group takes as many wavefronts as its fullest bank has distinct words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hwsim.gpu_sm.chip import BANK_BYTES, BANKS, LINE_BYTES, SECTOR_BYTES, WARP
from hwsim.rows import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.uint64]
Columns = tuple[Floats, ...]  # a pattern: width, thread run, the two strides, threads
Lanes = tuple[Floats, Floats, Floats, Floats]  # width in bytes, thread run, the two strides

WIDEST_BYTES = 16  # one access instruction of a thread
_FEW = 32  # rows of which finding the distinct ones costs more than looking all of them up
_MOST_KNOWN = 1 << 16
_KNOWN: dict[int, list[float]] = {}  # code -> sectors, lines, wavefronts, global wavefronts
_PHASES = 8  # warps that are averaged where the thread run does not divide a warp evenly
_FAR = float(1 << 40)  # longest stride: the product with a thread number must not wrap
# Of the columns of a pattern; odd, so that multiplication by one of them is one to one.
_FACTORS = (
    0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93,
    0xA0761D6478BD642F,
)  # fmt: skip


@dataclass(frozen=True)
class Access:
    """One stream's warp accesses; what follows has shape ``(n,)``.

    ``width``: bytes of one declared access of one thread; ``split``: access instructions that it
    takes (8 floats are two of 16 B).  The rest is of one such instruction of one warp.
    """

    width: Floats
    split: Floats
    _values: Floats  # (4, patterns)
    _pattern: Ints  # (n,)

    @cached_property
    def sectors(self) -> Floats:
        """Distinct 32 B sectors."""
        return self._of_pattern(0)

    @cached_property
    def lines(self) -> Floats:
        """Distinct 128 B lines."""
        return self._of_pattern(1)

    @cached_property
    def wavefronts(self) -> Floats:
        """Passes through the banks of shared memory."""
        return self._of_pattern(2)

    @cached_property
    def global_wavefronts(self) -> Floats:
        """Passes of an L1 hit: half- and quarter-warps never merge."""
        return self._of_pattern(3)

    def _of_pattern(self, value: int) -> Floats:
        return np.asarray(self._values[value].take(self._pattern))


def access_of(rows: Rows, stream: str) -> Access:
    """Evaluate ``stream`` (a name of :data:`hwsim.columns.GPU_STREAMS`) for every row.

    A table may know better than to look at its numbers (``warp_access``): then it is asked.
    """
    lanes, threads = _global_side(rows, stream), rows["threads"]
    if rows.warp_access is not None:
        known: Access = rows.warp_access(lanes, threads)
        return known
    return patterns([lanes], threads)[0]


def capped(lanes: Lanes, threads: Floats) -> Columns:
    """What tells one pattern from another: the lanes of one instruction, and the threads."""
    return _of_one(lanes[0]), *lanes[1:], _live(threads)


def _of_one(width: Floats) -> Floats:
    return np.minimum(width, WIDEST_BYTES)


def _live(threads: Floats) -> Floats:
    return np.minimum(threads, WARP * _PHASES)


def accesses_of(rows: Rows, streams: Sequence[str]) -> tuple[dict[str, Access], dict[str, Access]]:
    """``(accesses, stores)`` by stream: ``stores`` are what staging streams write to shared memory.

    All are evaluated together, which costs less than one after the other.
    """
    staged = [s for s in streams if s.endswith("_global_shared")]
    asked = [_global_side(rows, s) for s in streams] + [_shared_side(rows, s) for s in staged]
    found = patterns(asked, rows["threads"])
    accesses, stores = found[: len(streams)], found[len(streams) :]
    return dict(zip(streams, accesses, strict=True)), dict(zip(staged, stores, strict=True))


def _global_side(rows: Rows, stream: str) -> Lanes:
    names = ("thread_run", "stride1_bytes", "stride2_bytes")
    run, step1, step2 = (rows[f"{stream}_{name}"] for name in names)
    return width_of(rows, stream), run, step1, step2


def _shared_side(rows: Rows, stream: str) -> Lanes:
    """The stores of a staging stream, dense where the table gives no strides."""
    step1, step2 = (rows[f"{stream}_store_stride{i}_bytes"] for i in (1, 2))
    width, run = width_of(rows, stream), rows[f"{stream}_thread_run"]
    dense = (step1 == 0) & (step2 == 0)
    step1 = np.where(dense, width, step1)
    return width, run, step1, np.where(dense, width * np.maximum(run, 1), step2)


def width_of(rows: Rows, stream: str) -> Floats:
    """Bytes of one access of one thread."""
    return np.maximum(rows[f"{stream}_lanes"] * rows[f"{stream}_elem_bytes"], 1)


def requests_of(rows: Rows, stream: str, access: Access, warps: Floats) -> Floats:
    """Warp-wide access instructions of one block; warps with no live lane issue none."""
    moved = rows[f"{stream}_bytes"]
    live = np.minimum(moved / (access.width * np.maximum(rows["threads"], 1)), 1)
    live = np.where(moved > 0, live, 1) * rows["work_share"]  # 0: not given
    return np.asarray(rows[f"{stream}_count"] * access.split * warps * live)


def patterns(asked: Sequence[Lanes], threads: Floats) -> list[Access]:
    """Evaluate accesses of blocks of ``threads`` ``(n,)``."""
    threads = _live(threads)
    keys = [(_of_one(lanes[0]), *lanes[1:], threads) for lanes in asked]
    return [
        Access(lanes[0], _instructions(lanes[0]), values, index)
        for lanes, (index, values) in zip(asked, _known(keys), strict=True)
    ]


def _instructions(width: Floats) -> Floats:
    """Access instructions that ``width`` bytes take: one each, nearly always."""
    wide = width.max(initial=0) > WIDEST_BYTES
    return np.asarray(np.ceil(width / WIDEST_BYTES)) if wide else np.ones(1)


@lru_cache(_MOST_KNOWN)
def pattern(*key: float) -> list[float]:
    """Sectors, lines and both wavefronts of one pattern, told by ``capped`` numbers."""
    whole = [int(min(x, _FAR)) for x in key]
    return _one_warp(*whole) or _evaluate(np.array([whole]))[:, 0].tolist()


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


def _known(asked: Sequence[Columns]) -> list[tuple[Ints, Floats]]:
    """``(index, values)`` of each: row -> pattern number, and the patterns' ``(4, patterns)``.

    A space has few patterns, in many batches: they are remembered.
    """
    products: dict[tuple[int, int], Codes] = {}
    numbered = [_numbered(_codes(columns, products)) for columns in asked]
    found = {code: _KNOWN.get(code) for _, codes in numbered for code in codes}
    if None in found.values():
        new: dict[int, Ints] = {}
        for columns, (index, codes) in zip(asked, numbered, strict=True):
            new |= _unknown(columns, index, codes)
        values = _evaluate(np.array(list(new.values())))
        found |= (learnt := dict(zip(new, values.T.tolist(), strict=True)))
        _remember(learnt)
    return [
        (index, np.array([found[code] for code in codes]).reshape(-1, 4).T)
        for index, codes in numbered
    ]


def _numbered(codes: Codes) -> tuple[Ints, list[int]]:
    """Row -> pattern number, and the codes of the patterns."""
    if len(codes) <= _FEW:
        return np.arange(len(codes)), codes.tolist()
    index, values = pd.factorize(codes)
    return index, values.tolist()


def _codes(columns: Columns, products: dict[tuple[int, int], Codes]) -> Codes:
    """64-bit hashes of patterns, ``(n,)``; ``products`` holds the terms of columns used again."""
    terms = []
    for column, factor in zip(columns, _FACTORS, strict=True):
        key = id(column), factor
        if key not in products:
            bits = column.view(np.uint64)
            mixed = bits >> np.uint64(32)  # small whole numbers have their bits at the top
            mixed ^= bits
            mixed *= np.uint64(factor)
            products[key] = mixed
        terms.append(products[key])
    return reduce(np.add, sorted(terms, key=len))  # those of one number first


def _unknown(columns: Columns, index: Ints, codes: list[int]) -> dict[int, Ints]:
    """Code -> pattern, of those that are not known yet."""
    numbers = [i for i, code in enumerate(codes) if code not in _KNOWN]
    first = np.empty(len(codes), dtype=np.int64)
    first[index] = np.arange(len(index))
    rows = np.stack([np.broadcast_to(c, len(index))[first[numbers]] for c in columns])
    whole = np.minimum(rows, _FAR).astype(np.int64)
    return {codes[i]: key for i, key in zip(numbers, whole.T, strict=True)}


def _remember(new: dict[int, list[float]]) -> None:
    if len(_KNOWN) + len(new) > _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN.update(new)


def _evaluate(keys: Ints) -> Floats:
    out = np.ones((4, len(keys)))
    run = np.maximum(keys[:, 1], 1)
    even = (WARP % run == 0) | (run % WARP == 0)
    for mask, phases in ((even, 1), (~even, _PHASES)):
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
