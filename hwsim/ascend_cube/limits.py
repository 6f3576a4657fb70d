"""What a kernel must fit into: buffers, device memory, the cube's data types."""

from __future__ import annotations

import numpy as np

from hwsim.ascend_cube.chip import AscendChip
from hwsim.ascend_cube.memory import READS, WRITES
from hwsim.farm import compile_time
from hwsim.footprint import kept_bytes
from hwsim.result import Failure, Limit
from hwsim.rows import Rows

BUFFERS = ("l1", "l0a", "l0b", "l0c", "ub")
_WIDEST_CUBE_INPUT_BITS = 32.0


def limits(rows: Rows, chip: AscendChip) -> tuple[Limit, ...]:
    """Capacities of the core's buffers (all copies), the cube's input width, the HBM."""
    found = [
        Limit(
            f"{scope}_capacity",
            Failure.compile_error,
            kept_bytes(rows, scope),
            np.array([getattr(chip, f"{scope}_kib") * 1024.0]),
            "B",
        )
        for scope in BUFFERS
    ]
    bits = np.where(rows["mm_count"] > 0, rows["in_bits"], 0.0)
    widest = np.array([_WIDEST_CUBE_INPUT_BITS])
    found.append(Limit("cube_input_width", Failure.compile_error, bits, widest, "bits"))
    found.append(compile_time(rows["unroll"], chip.bench))
    tensors = sum(rows[f"{s}_unique_bytes"] for s in (*READS, *WRITES))
    device = np.array([chip.hbm_gib * 2.0**30])
    found.append(Limit("hbm_capacity", Failure.launch_error, np.asarray(tensors), device, "B"))
    return tuple(found)
