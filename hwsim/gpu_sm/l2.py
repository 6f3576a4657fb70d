"""What L2 keeps of the bytes that a kernel's blocks take from it, and what comes from DRAM.

L2 catches what the blocks of one wave share: they run in step, ordered with the columns of the
output fastest; across waves it catches what its capacity holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwsim.columns import GPU_STREAMS
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.occupancy import Occupancy
from hwsim.rows import Rows, total

Floats = NDArray[np.float64]

LOADS = tuple(s for s in GPU_STREAMS if "_global_" in s)
STORES = tuple(s for s in GPU_STREAMS if s.endswith("_global"))


def unique_bytes(rows: Rows, *streams: str) -> Floats:
    """Distinct bytes of the kernel over several streams."""
    names = [f"{s}_unique_bytes" for s in streams]
    return total(rows[name] for name in names if rows.occurs(name))


def kept(footprint: Floats, capacity: Floats | float) -> Floats:
    """Share of a footprint that is read again and still lies in a cache of ``capacity`` bytes.

    All of it up to 3/4 of the capacity, nothing beyond 3/2 (softmax and layer norm of NeuSight,
    calibration set: their second pass over a row turns from L2 to DRAM in this range).
    """
    return np.minimum(np.maximum(2 - footprint / (0.75 * capacity), 0), 1)


@dataclass(frozen=True)
class DramReads:
    """DRAM reads by load stream; what streams share is computed once."""

    rows: Rows
    chip: GpuChip
    occupancy: Occupancy

    def of(self, stream: str, block: Floats, kernel: Floats) -> Floats:
        """Bytes of a stream of which each block takes ``block`` bytes from L2, all ``kernel``."""
        unique = np.minimum(self.rows[f"{stream}_unique_bytes"], kernel)
        if stream[0] == "a":
            needed, fit = self._blocks_reading_a * block, self._a_fit
        elif stream[0] == "b":
            needed = self._blocks_reading_b * block
            fit = kept(unique / self.rows.at_least_one("grid_batch") + block, self._l2_bytes)
        else:
            own = unique / self.rows.at_least_one("blocks")
            needed, fit = kernel, self._neighbours_fit(own, block)
            if stream.endswith("_local"):  # read in several passes, not shared with neighbours
                fit = np.minimum(fit, self._passes_fit(own))
        again = np.maximum(needed - unique, 0)
        return np.asarray(unique + again * (1 - fit))

    @property
    def _l2_bytes(self) -> float:
        return self.chip.l2_kib * 1024.0

    @cached_property
    def _wave(self) -> Floats:
        """Blocks that run at a time."""
        most = self.chip.sms * self.occupancy.blocks_sm
        return np.minimum(self.rows.at_least_one("blocks"), most)

    @cached_property
    def _blocks_reading_a(self) -> Floats:
        """Blocks that do not find their rows of A in L2 thanks to others of their wave."""
        share = np.maximum(1 / self.rows.at_least_one("grid_n"), 1 / self._wave)
        return np.asarray(share * self.rows.at_least_one("blocks"))

    @cached_property
    def _blocks_reading_b(self) -> Floats:
        share = np.minimum(self.rows.at_least_one("grid_n") / self._wave, 1)
        return np.asarray(share * self.rows.at_least_one("blocks"))

    @cached_property
    def _a_fit(self) -> Floats:
        b_bytes = unique_bytes(self.rows, "b_global_shared", "b_global_local")
        return kept(b_bytes, self._l2_bytes)

    def _neighbours_fit(self, own: Floats, block: Floats) -> Floats:
        """Share of neighbours' bytes that L2 holds when read again: a row of blocks stays."""
        shared = np.sqrt(np.maximum(own, 1) * np.maximum(block, own))
        return kept(self.rows["grid_n"] * shared, self._l2_bytes)

    def _passes_fit(self, own: Floats) -> Floats:
        """Share of its own bytes that a block finds in L2 at its next pass over them.

        What the resident blocks read and write has to stay: in the L2 that an SM can count on, or
        that of the whole kernel in the whole of it.
        """
        blocks = self.rows.at_least_one("blocks")
        passing = own + unique_bytes(self.rows, *STORES) / blocks
        resident_bytes = self.occupancy.blocks_unshared * passing
        resident = kept(resident_bytes, self.chip.l2_sm_kib * 1024.0)
        return np.maximum(resident, kept(blocks * passing, self._l2_bytes))
