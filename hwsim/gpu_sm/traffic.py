"""What the global streams of a kernel move through L1, L2 and DRAM.

L1 catches what the threads of one block read again while its window of lines stays in the L1 left
over by shared memory.  L2 catches what the blocks of one wave share: they run in step, ordered with
the columns of the output fastest; across waves it catches what its capacity holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.gpu_sm.access import Access
from hwsim.gpu_sm.chip import SECTOR_BYTES, GpuChip
from hwsim.gpu_sm.l2 import LOADS, STORES, DramReads, kept, unique_bytes
from hwsim.gpu_sm.occupancy import Occupancy
from hwsim.rows import Rows, total

Floats = NDArray[np.float64]

_L1_STREAMS = 0.5  # share of L1 that one stream finds: writes and other streams take sets too
_L1_LEAST_BYTES = 28 * 1024.0  # left at the largest carve-out of any generation
_DRIFT = 4.0  # iterations between the first and the last warp of a block


@dataclass(frozen=True)
class Traffic:
    """Columns ``(n,)``: passes and tags of one block, bytes of the whole kernel.

    ``stage``: what fills shared memory; ``direct``: loads straight to registers.
    """

    l1_passes: Floats  # bank passes of direct loads
    stage_tags: Floats  # lines that staged loads look up
    store_tags: Floats  # lines that stores look up
    l2_stage_bytes: Floats
    l2_direct_bytes: Floats
    l2_write_bytes: Floats
    dram_stage_bytes: Floats
    dram_direct_bytes: Floats
    dram_write_bytes: Floats
    asked_stage_bytes: Floats  # in sectors that the loads ask L1 for
    asked_direct_bytes: Floats

    @property
    def l1_hit(self) -> Floats:
        """Share of the sectors that direct loads find in L1."""
        missed = self.l2_direct_bytes / np.maximum(self.asked_direct_bytes, 1)
        return np.where(self.asked_direct_bytes > 0, np.maximum(1 - missed, 0), 0)

    @property
    def l2_read_bytes(self) -> Floats:
        """What the SMs read from L2."""
        return self.l2_stage_bytes + self.l2_direct_bytes

    @property
    def l2_bytes(self) -> Floats:
        """Both directions between the SMs and L2."""
        return self.l2_read_bytes + self.l2_write_bytes

    @property
    def dram_read_bytes(self) -> Floats:
        """What L2 reads from DRAM."""
        return self.dram_stage_bytes + self.dram_direct_bytes

    @property
    def dram_bytes(self) -> Floats:
        """Both directions between L2 and DRAM."""
        return self.dram_read_bytes + self.dram_write_bytes


def traffic_of(
    rows: Rows,
    chip: GpuChip,
    occupancy: Occupancy,
    access: Mapping[str, Access],
    requests: Mapping[str, Floats],
) -> Traffic:
    """Traffic of every row; ``access`` and ``requests`` hold the streams that occur."""
    block_sectors_bytes = rows.at_least_one("blocks") * SECTOR_BYTES
    own = {s: _block_bytes(rows, s) for s in LOADS if s in access}
    l1_missed = 1 - _l1_fit(rows, chip, occupancy, access, own)
    cold = 1 - _warm(rows, chip)
    dram = DramReads(rows, chip, occupancy)
    parts: dict[str, list[Floats]] = {name: [] for name in Traffic.__dataclass_fields__}
    for stream, block_bytes in own.items():
        sectors = requests[stream] * access[stream].sectors
        distinct = np.minimum(block_bytes / SECTOR_BYTES, sectors)
        missed = distinct + (sectors - distinct) * l1_missed
        kind = "stage" if stream.endswith("_global_shared") else "direct"
        if kind == "stage":  # what misses anyway costs its tag look-ups
            parts["stage_tags"].append(requests[stream] * access[stream].lines)
        else:  # hits pass the banks like shared memory
            parts["l1_passes"].append(requests[stream] * access[stream].global_wavefronts)
        parts[f"asked_{kind}_bytes"].append(sectors * block_sectors_bytes)
        l2_bytes = missed * block_sectors_bytes
        parts[f"l2_{kind}_bytes"].append(l2_bytes)
        parts[f"dram_{kind}_bytes"].append(dram.of(stream, missed * SECTOR_BYTES, l2_bytes) * cold)
    for stream in (s for s in STORES if s in access):
        parts["store_tags"].append(requests[stream] * access[stream].lines)
        sectors = requests[stream] * access[stream].sectors
        parts["l2_write_bytes"].append(sectors * block_sectors_bytes)
        parts["dram_write_bytes"].append(rows[f"{stream}_unique_bytes"] * cold)
    return Traffic(**{name: total(amounts) for name, amounts in parts.items()})


def _block_bytes(rows: Rows, stream: str) -> Floats:
    """Distinct bytes of a load stream that one block needs, in whole sectors."""
    run = rows.at_least_one(f"{stream}_run_bytes")
    waste = np.ceil(run / SECTOR_BYTES) * SECTOR_BYTES / run
    if stream.endswith("_global_shared"):
        return np.asarray(rows[f"{stream}_count"] * rows[f"{stream}_bytes"] * waste)
    share = {"a": "grid_m", "b": "grid_n"}.get(stream[0])
    batch = rows.at_least_one("grid_batch")
    parts = rows.at_least_one(share) * batch if share else rows.at_least_one("blocks")
    return np.asarray(rows[f"{stream}_unique_bytes"] / parts * waste)


def _l1_fit(
    rows: Rows,
    chip: GpuChip,
    occupancy: Occupancy,
    access: Mapping[str, Access],
    own: Mapping[str, Floats],
) -> Floats:
    """Share of a block's repeated reads, of ``own`` bytes by stream, that find their line in L1.

    Warps of a block drift apart by a few iterations, so that many iterations' lines must stay.
    """
    macs = rows["macs"] / np.maximum(rows["blocks"] * rows["threads"], 1)
    iterations = np.maximum(macs / rows.at_least_one("acc_regs"), 1)
    window = total(block_bytes * access[s].line_share for s, block_bytes in own.items())
    window = window * (np.minimum(_DRIFT / iterations, 1) * occupancy.blocks_unshared)
    l1 = (chip.l1_shared_kib - chip.carveout_min_kib) * _L1_STREAMS * 1024.0
    shared = occupancy.blocks_unshared * rows["shared_bytes"]
    free = np.maximum(l1 - shared, _L1_LEAST_BYTES)
    return kept(window, free)


def _warm(rows: Rows, chip: GpuChip) -> Floats:
    """Share of a kernel's data that its previous run left in L2 (kernels are timed repeatedly)."""
    return kept(unique_bytes(rows, *LOADS, *STORES), chip.l2_kib * 1024.0)
