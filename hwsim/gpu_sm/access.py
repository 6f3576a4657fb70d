"""The warp-wide accesses of a kernel's streams: which instructions, and what each of them costs.

Thread ``t`` of a block touches ``(t % run) * stride1 + (t // run) * stride2`` bytes from the base,
``lanes * elem_bytes`` wide (see :mod:`hwsim.columns`).  Few distinct patterns occur in a table of
many rows, so each distinct one is evaluated once (:mod:`hwsim.gpu_sm.warp`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwsim.gpu_sm.chip import WARP
from hwsim.gpu_sm.known_patterns import KnownPatterns, Lanes
from hwsim.gpu_sm.warp import PHASES
from hwsim.rows import Rows, scaled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WIDEST_BYTES = 16  # one access instruction of a thread
KNOWN = KnownPatterns()


@dataclass(frozen=True)
class Access:
    """One stream's warp accesses; what follows has shape ``(n,)``.

    ``width``: bytes of one declared access of one thread; ``split``: access instructions that it
    takes (8 floats are two of 16 B).  The rest is of one such instruction of one warp.
    """

    width: Floats
    split: Floats
    _values: Floats  # (5, patterns)
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

    @cached_property
    def line_share(self) -> Floats:
        """Bytes of the lines over those of the sectors, at least 1."""
        return self._of_pattern(4)

    def _of_pattern(self, value: int) -> Floats:
        # "clip": valid slots need no check, which takes as long as the rest
        return np.asarray(self._values[value].take(self._pattern, mode="clip"))


def access_of(rows: Rows, stream: str) -> Access:
    """Evaluate ``stream`` (a name of :data:`hwsim.columns.GPU_STREAMS`) for every row.

    A table may know better than to look at its numbers (``warp_access``): then it is asked.
    """
    lanes, threads = _global_side(rows, stream), rows["threads"]
    if rows.warp_access is not None:
        known: Access = rows.warp_access(lanes, threads)
        return known
    return patterns([lanes], threads)[0]


def capped(lanes: Lanes, threads: Floats) -> tuple[Floats, ...]:
    """What tells one pattern from another: the lanes of one instruction, and the threads."""
    return np.minimum(lanes[0], WIDEST_BYTES), *lanes[1:], _live(threads)


def _live(threads: Floats) -> Floats:
    return np.minimum(threads, WARP * PHASES)


def accesses_of(rows: Rows, streams: Sequence[str]) -> tuple[dict[str, Access], dict[str, Access]]:
    """``(accesses, stores)`` by stream: ``stores`` are what staging streams write to shared memory.

    All are evaluated together, which costs less than one after the other.
    """
    lanes = {s: _global_side(rows, s) for s in streams}
    staged = [s for s in streams if s.endswith("_global_shared")]
    asked = [*lanes.values(), *(_shared_side(rows, s, lanes[s]) for s in staged)]
    found = patterns(asked, rows["threads"])
    accesses, stores = found[: len(streams)], found[len(streams) :]
    return dict(zip(streams, accesses, strict=True)), dict(zip(staged, stores, strict=True))


def _global_side(rows: Rows, stream: str) -> Lanes:
    names = ("thread_run", "stride1_bytes", "stride2_bytes")
    run, step1, step2 = (rows[f"{stream}_{name}"] for name in names)
    width = np.maximum(rows[f"{stream}_lanes"] * rows[f"{stream}_elem_bytes"], 1)
    return width, run, step1, step2


def _shared_side(rows: Rows, stream: str, lanes: Lanes) -> Lanes:
    """The stores of a staging stream, dense where the table gives no strides."""
    width, run = lanes[:2]
    step1, step2 = (rows[f"{stream}_store_stride{i}_bytes"] for i in (1, 2))
    dense = (step1 == 0) & (step2 == 0)
    if dense.any():
        step1 = np.where(dense, width, step1)
        step2 = np.where(dense, width * np.maximum(run, 1), step2)
    return width, run, step1, step2


def requests_of(rows: Rows, stream: str, access: Access, warps: Floats) -> Floats:
    """Warp-wide access instructions of one block; warps with no live lane issue none."""
    moved = rows[f"{stream}_bytes"]
    live = np.minimum(moved / (access.width * rows.at_least_one("threads")), 1)
    np.copyto(live, 1, where=moved <= 0)  # not given
    return instructions_of(rows, stream, access) * warps * scaled(live, rows["work_share"])


def instructions_of(rows: Rows, stream: str, access: Access) -> Floats:
    """Access instructions of one thread."""
    return scaled(rows[f"{stream}_count"], access.split)


def patterns(asked: Sequence[Lanes], threads: Floats) -> list[Access]:
    """Evaluate accesses of blocks of ``threads`` ``(n,)``."""
    instructions = [_instructions(lanes[0]) for lanes in asked]
    single = [(width, *lanes[1:]) for (width, _), lanes in zip(instructions, asked, strict=True)]
    found = KNOWN.find(single, _live(threads))
    return [
        Access(lanes[0], split, KNOWN.values, slots)
        for lanes, (_, split), slots in zip(asked, instructions, found, strict=True)
    ]


def _instructions(width: Floats) -> tuple[Floats, Floats]:
    """``(width of one, how many)``: of access instructions; nearly always it is one."""
    if width.max(initial=0) <= WIDEST_BYTES:
        return width, np.ones(1)
    return np.minimum(width, WIDEST_BYTES), np.asarray(np.ceil(width / WIDEST_BYTES))
