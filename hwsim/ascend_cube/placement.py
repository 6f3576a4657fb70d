"""How the blocks of a kernel spread over the cores, and how many cores run at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.ascend_cube.chip import AscendChip
from hwsim.result import FloatColumn
from hwsim.rows import Rows


@dataclass(frozen=True)
class Placement:
    """Columns ``(n,)``.

    ``cube`` marks kernels that run on cube cores (with their vector cores at their side); the
    others run on vector cores alone.  ``rounds`` of blocks follow one another; on average
    ``active`` blocks run at once.  ``vector_split`` vector cores share a block's vector work.
    """

    cube: NDArray[np.bool_]
    blocks: FloatColumn
    cores: FloatColumn
    rounds: FloatColumn
    active: FloatColumn
    vector_split: FloatColumn
    work_share: FloatColumn
    a_sharers: FloatColumn  # blocks that read the same tile of A at the same time
    b_sharers: FloatColumn

    @property
    def core_utilisation(self) -> FloatColumn:
        """Share of the core time that blocks fill, edges counted by their work."""
        return np.asarray(self.blocks * self.work_share / np.maximum(self.rounds * self.cores, 1))


def place(rows: Rows, chip: AscendChip) -> Placement:
    """Blocks onto cores, round by round.

    A row of the grid shares A and a column shares B while they run at the same time.  ``active`` is
    the mean over the rounds, so that one more core can never mean more contention than help.
    """
    cube = rows["mm_count"] > 0
    blocks = rows["blocks"]
    cores = np.where(cube, float(chip.cube_cores), float(chip.vector_cores))
    rounds = np.ceil(blocks / cores)
    active = np.maximum(blocks / np.maximum(rounds, 1), 1)
    grid_n, grid_m = rows["grid_n"], rows["grid_m"]
    return Placement(
        cube=cube,
        blocks=blocks,
        cores=cores,
        rounds=rounds,
        active=active,
        vector_split=np.where(cube, max(1.0, chip.vector_cores / chip.cube_cores), 1.0),
        work_share=np.clip(rows["work_share"], 0, 1),
        a_sharers=np.clip(grid_n, 1, active),
        b_sharers=np.clip(active / np.maximum(grid_n, 1), 1, np.maximum(grid_m, 1)),
    )
