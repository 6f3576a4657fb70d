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

from hwsim.columns import GPU_STREAMS
from hwsim.gpu_sm.access import Access
from hwsim.gpu_sm.chip import SECTOR_BYTES, GpuChip
from hwsim.gpu_sm.occupancy import Occupancy
from hwsim.rows import Rows

Floats = NDArray[np.float64]

LOADS = tuple(s for s in GPU_STREAMS if "_global_" in s)
_L1_STREAMS = 0.5  # share of L1 that one stream finds: writes and other streams take sets too
_L1_LEAST_BYTES = 28 * 1024.0  # left at the largest carve-out of any generation
_DRIFT = 4.0  # iterations between the first and the last warp of a block
STORES = tuple(s for s in GPU_STREAMS if s.endswith("_global"))


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
    blocks = np.maximum(rows["blocks"], 1)
    own = {s: _block_bytes(rows, s) for s in LOADS if s in access}
    fit = _l1_fit(rows, chip, occupancy, access, own)
    cold = 1 - _warm(rows, chip)
    sums = {name: np.zeros(1) for name in Traffic.__dataclass_fields__}

    def add(name: str, amount: Floats) -> None:
        sums[name] = sums[name] + amount

    for stream, block_bytes in own.items():
        sectors = requests[stream] * access[stream].sectors
        distinct = np.minimum(block_bytes / SECTOR_BYTES, sectors)
        missed = distinct + (sectors - distinct) * (1 - fit)
        kind = "stage" if stream.endswith("_global_shared") else "direct"
        if kind == "stage":  # what misses anyway costs its tag look-ups
            add("stage_tags", requests[stream] * access[stream].lines)
        else:  # hits pass the banks like shared memory
            add("l1_passes", requests[stream] * access[stream].global_wavefronts)
        add(f"asked_{kind}_bytes", sectors * blocks * SECTOR_BYTES)
        add(f"l2_{kind}_bytes", missed * blocks * SECTOR_BYTES)
        reads = _dram_read(rows, chip, occupancy, stream, missed * SECTOR_BYTES)
        add(f"dram_{kind}_bytes", reads * cold)
    for stream in (s for s in STORES if s in access):
        add("store_tags", requests[stream] * access[stream].lines)
        add("l2_write_bytes", requests[stream] * access[stream].sectors * blocks * SECTOR_BYTES)
        add("dram_write_bytes", rows[f"{stream}_unique_bytes"] * cold)
    return Traffic(**sums)


def _block_bytes(rows: Rows, stream: str) -> Floats:
    """Distinct bytes of a load stream that one block needs, in whole sectors."""
    run = np.maximum(rows[f"{stream}_run_bytes"], 1)
    waste = np.ceil(run / SECTOR_BYTES) * SECTOR_BYTES / run
    if stream.endswith("_global_shared"):
        return np.asarray(rows[f"{stream}_count"] * rows[f"{stream}_bytes"] * waste)
    share = {"a": "grid_m", "b": "grid_n"}.get(stream[0])
    batch = np.maximum(rows["grid_batch"], 1)
    parts = np.maximum(rows[share], 1) * batch if share else np.maximum(rows["blocks"], 1)
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
    iterations = np.maximum(macs / np.maximum(rows["acc_regs"], 1), 1)
    window = np.zeros(1)
    for stream, block_bytes in own.items():
        window = window + block_bytes * access[stream].line_share
    window = window * (np.minimum(_DRIFT / iterations, 1) * occupancy.blocks_unshared)
    l1 = (chip.l1_shared_kib - chip.carveout_min_kib) * _L1_STREAMS * 1024.0
    shared = occupancy.blocks_unshared * rows["shared_bytes"]
    free = np.maximum(l1 - shared, _L1_LEAST_BYTES)
    return kept(window, free)


def _dram_read(
    rows: Rows, chip: GpuChip, occupancy: Occupancy, stream: str, block: Floats
) -> Floats:
    """DRAM bytes of one load stream of which a block takes ``block`` bytes from L2."""
    blocks = np.maximum(rows["blocks"], 1)
    unique = np.minimum(rows[f"{stream}_unique_bytes"], block * blocks)
    l2 = chip.l2_kib * 1024.0
    columns = np.maximum(rows["grid_n"], 1)
    wave = np.minimum(blocks, chip.sms * occupancy.blocks_sm)
    if stream[0] == "a":
        needed = np.maximum(1 / columns, 1 / wave) * blocks * block
        fit = kept(_unique(rows, "b"), l2)
    elif stream[0] == "b":
        needed = np.minimum(columns / wave, 1) * blocks * block
        fit = kept(unique / np.maximum(rows["grid_batch"], 1) + block, l2)
    else:
        needed = blocks * block
        fit = _neighbours_fit(rows, l2, unique / blocks, block)
        if stream.endswith("_local"):  # read in several passes rather than shared with neighbours
            fit = np.minimum(fit, _passes_fit(rows, chip, occupancy, unique / blocks))
    again = np.maximum(needed - unique, 0)
    return np.asarray(unique + again * (1 - fit))


def _neighbours_fit(rows: Rows, l2: float, own: Floats, block: Floats) -> Floats:
    """Share of what blocks read of their neighbours' bytes that L2 holds: a row of blocks stays."""
    return kept(rows["grid_n"] * np.sqrt(np.maximum(own, 1) * np.maximum(block, own)), l2)


def _passes_fit(rows: Rows, chip: GpuChip, occupancy: Occupancy, own: Floats) -> Floats:
    """Share of its own bytes that a block finds in L2 at its next pass over them.

    What the resident blocks read and write has to stay: in the L2 that an SM can count on, or that
    of the whole kernel in the whole of it.
    """
    passing = own + _written(rows)
    resident = kept(occupancy.blocks_unshared * passing, chip.l2_sm_kib * 1024.0)
    whole = kept(np.maximum(rows["blocks"], 1) * passing, chip.l2_kib * 1024.0)
    return np.maximum(resident, whole)


def _unique(rows: Rows, operand: str) -> Floats:
    return np.asarray(
        rows[f"{operand}_global_shared_unique_bytes"] + rows[f"{operand}_global_local_unique_bytes"]
    )


def _written(rows: Rows) -> Floats:
    """Bytes that one block writes."""
    out = sum((rows[f"{s}_unique_bytes"] for s in STORES), np.zeros(1))
    return np.asarray(out / np.maximum(rows["blocks"], 1))


def kept(footprint: Floats, capacity: Floats | float) -> Floats:
    """Share of a footprint that is read again and still lies in a cache of ``capacity`` bytes.

    All of it up to 3/4 of the capacity, nothing beyond 3/2 (softmax and layer norm of NeuSight,
    calibration set: their second pass over a row turns from L2 to DRAM in this range).
    """
    return np.asarray(np.clip(2 - footprint / (0.75 * capacity), 0, 1))


def _warm(rows: Rows, chip: GpuChip) -> Floats:
    """Share of a kernel's data that its previous run left in L2 (kernels are timed repeatedly)."""
    footprint = sum(rows[f"{s}_unique_bytes"] for s in (*LOADS, *STORES))
    return kept(np.asarray(footprint), chip.l2_kib * 1024.0)
