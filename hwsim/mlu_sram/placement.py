"""How a launch spreads over clusters and cores, and how that shares the memory bus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.mlu_sram.chip import MluChip
from hwsim.result import FloatColumn
from hwsim.rows import Rows


@dataclass(frozen=True)
class Placement:
    """Where the blocks run; every column is ``(n,)``.

    ``union``: blocks of a cluster start together and share its SRAM (a Union launch); otherwise
    every block takes the next free core (a Block launch).  ``rounds`` is how many blocks the
    busiest core runs one after another, ``cluster_blocks`` how many pass through the busiest
    cluster in all, ``chip_blocks`` how many full blocks' worth of work the kernel has.
    """

    union: NDArray[np.bool_]
    rounds: FloatColumn
    cluster_blocks: FloatColumn
    chip_blocks: FloatColumn

    def chip_share(self) -> FloatColumn:
        """Blocks that the chip's bus serves in the time of one round."""
        return self.chip_blocks / self.rounds

    def cluster_share(self, chip: MluChip) -> FloatColumn:
        """The same for the busiest cluster's own limit, in units of the chip's bus."""
        return self.cluster_blocks / self.rounds * (chip.ddr_gbps / chip.cluster_ddr_gbps)


def place(rows: Rows, chip: MluChip) -> Placement:
    """Placement of every row.

    A kernel of one core a cluster that stages nothing in SRAM is a Block launch.  Rounds are not
    lock-step across the chip: totals over the kernel count, so a part-filled last round takes no
    more of the bus than its work.
    """
    clusters = np.maximum(rows["clusters"], 1.0)
    cores = np.maximum(rows["cores_per_cluster"], 1.0)
    blocks = clusters * cores
    union = (cores > 1) | (rows["sram_bytes"] > 0)
    for stream in ("a_gdram_sram", "b_gdram_sram"):
        union = union | (rows[f"{stream}_count"] > 0)
    per_cluster = np.ceil(clusters / chip.clusters)
    return Placement(
        union=union,
        rounds=np.where(union, per_cluster, np.ceil(blocks / chip.cores)),
        cluster_blocks=np.where(union, per_cluster * cores, np.ceil(blocks / chip.clusters)),
        chip_blocks=blocks * np.minimum(rows["work_share"], 1.0),
    )
