"""What a kernel must fit into: buffers, device memory, the cube's data types."""

from __future__ import annotations

import numpy as np

from hwsim.ascend_cube.chip import AscendChip
from hwsim.ascend_cube.memory import READS, WRITES
from hwsim.ascend_cube.placement import column
from hwsim.farm import compile_time
from hwsim.footprint import kept_bytes
from hwsim.result import Failure, Limit
from hwsim.table import KernelTable

BUFFERS = ("l1", "l0a", "l0b", "l0c", "ub")
_WIDEST_CUBE_INPUT_BITS = 32.0


def limits(table: KernelTable, chip: AscendChip) -> tuple[Limit, ...]:
    """Capacities of the core's buffers (all copies), the cube's input width, the HBM."""
    n = len(table)
    found = [
        Limit(
            f"{scope}_capacity",
            Failure.compile_error,
            kept_bytes(table, scope),
            np.full(n, getattr(chip, f"{scope}_kib") * 1024.0),
            "B",
        )
        for scope in BUFFERS
    ]
    bits = np.where(table["mm_count"] > 0, column(table, "in_bits"), 0.0)
    widest = np.full(n, _WIDEST_CUBE_INPUT_BITS)
    found.append(Limit("cube_input_width", Failure.compile_error, bits, widest, "bits"))
    found.append(compile_time(column(table, "unroll"), chip.bench))
    tensors = sum(column(table, f"{s}_unique_bytes") for s in (*READS, *WRITES))
    device = np.full(n, chip.hbm_gib * 2.0**30)
    found.append(Limit("hbm_capacity", Failure.launch_error, np.asarray(tensors), device, "B"))
    return tuple(found)
