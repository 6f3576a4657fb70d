"""What the memory that all cores share serves: traffic, L2 hits and misses, time of a transfer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hwsim.ascend_cube.chip import AscendChip
from hwsim.ascend_cube.placement import Placement
from hwsim.result import FloatColumn
from hwsim.rows import Rows

READS = ("a_gm_l1", "b_gm_l1", "x_gm_ub")
WRITES = ("c_l0c_gm", "c_ub_gm")


@dataclass(frozen=True)
class Traffic:
    """Bytes of the whole kernel by stream, each ``(n,)``; ``missed`` goes to or comes from HBM."""

    moved: Mapping[str, FloatColumn]
    missed: Mapping[str, FloatColumn]

    @property
    def hbm_bytes(self) -> FloatColumn:
        """Bytes between HBM and L2, ``(n,)``."""
        return np.asarray(sum(self.missed.values()), dtype=np.float64)

    @property
    def l2_bytes(self) -> FloatColumn:
        """Bytes between L2 and the cores, ``(n,)``."""
        return np.asarray(sum(self.moved.values()), dtype=np.float64)

    @property
    def l2_hit_rate(self) -> FloatColumn:
        """Share of the bytes that the cores read and L2 held, ``(n,)``; 0 where nothing is read."""
        moved = sum(self.moved[s] for s in READS)
        missed = sum(self.missed[s] for s in READS)
        return np.where(moved > 0, 1 - missed / np.maximum(moved, 1), 0.0)

    def miss_share(self, stream: str) -> FloatColumn:
        """Share of a stream's bytes that L2 does not hold, ``(n,)``."""
        moved = self.moved[stream]
        return np.where(moved > 0, self.missed[stream] / np.maximum(moved, 1e-300), 0.0)


def traffic(rows: Rows, chip: AscendChip, where: Placement) -> Traffic:
    """Hits and misses of every stream.

    Distinct bytes miss once: the kernel starts with a cold L2.  Blocks that read a tile at the same
    time fetch it once.  What is read again later misses with the share of the working set that is
    beyond the L2's capacity (uniform reuse); the working set is the kernel's distinct bytes, or
    ``l2_window_bytes`` where the producer of the table knows better.
    """
    moved = {s: _moved(rows, s, where) for s in (*READS, *WRITES)}
    unique = {s: _unique(rows, s, moved[s]) for s in moved}
    everything = np.asarray(sum(unique.values()), dtype=np.float64)
    window = rows["l2_window_bytes"]
    window = np.where(window > 0, np.minimum(window, everything), everything)
    l2_bytes = chip.l2_mib * 2.0**20
    lost = np.clip((window - l2_bytes) / np.maximum(window, 1), 0, 1)
    sharers = {"a_gm_l1": where.a_sharers, "b_gm_l1": where.b_sharers}
    missed = {}
    for stream, total in moved.items():
        again = np.maximum(total / sharers.get(stream, 1.0) - unique[stream], 0)
        missed[stream] = np.minimum(unique[stream] + again * lost, total)
    return Traffic(moved, missed)


def _moved(rows: Rows, stream: str, where: Placement) -> FloatColumn:
    of_block = rows[f"{stream}_count"] * rows[f"{stream}_bytes"]
    return np.asarray(of_block * where.blocks * where.work_share)


def _unique(rows: Rows, stream: str, moved: FloatColumn) -> FloatColumn:
    """Distinct bytes; where the producer did not say, nothing is read twice."""
    given = rows[f"{stream}_unique_bytes"]
    return np.where(given > 0, np.minimum(given, moved), moved)


@dataclass(frozen=True)
class Runs:
    """How one transfer of a stream lies in memory: ``count`` contiguous runs, ``bytes`` moved.

    ``lines`` is the number of L2 lines that they touch.  All ``(n,)``.
    """

    count: FloatColumn
    bytes: FloatColumn
    lines: FloatColumn


def runs_of(rows: Rows, stream: str, line_bytes: int) -> Runs:
    """Runs of one transfer, with what misalignment adds.

    A run of ``r`` bytes that starts at multiples of ``a`` touches ``(r + line - a) / line`` lines
    in the mean.  Each line beyond the fewest possible costs a whole line: that explains 512 B
    runs at odd addresses that take twice and 2048 B runs that take 5/4 of the aligned time
    (asc-devkit data_copy, L1 case 3 and UB case 4).
    """
    payload = rows[f"{stream}_bytes"]
    run = rows[f"{stream}_run_bytes"]
    run = np.where(run > 0, np.minimum(run, payload), payload)
    count = np.where(run > 0, payload / np.maximum(run, 1e-300), 0.0)
    align = np.clip(rows[f"{stream}_align_bytes"], 1, line_bytes)
    fewest = np.ceil(run / line_bytes)
    mean = np.maximum((run + line_bytes - align) / line_bytes, fewest)
    return Runs(count, payload + count * (mean - fewest) * line_bytes, count * mean)
