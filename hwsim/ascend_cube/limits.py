"""What a kernel must fit into: buffers, device memory, the cube's data types."""

from __future__ import annotations

import numpy as np

from hwsim.ascend_cube.chip import AscendChip
from hwsim.ascend_cube.memory import READS, WRITES
from hwsim.ascend_cube.placement import column
from hwsim.footprint import kept_bytes
from hwsim.result import Failure, FloatColumn, Limit
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
    tensors = sum(column(table, f"{s}_unique_bytes") for s in (*READS, *WRITES))
    device = np.full(n, chip.hbm_gib * 2.0**30)
    found.append(Limit("hbm_capacity", Failure.launch_error, np.asarray(tensors), device, "B"))
    return tuple(found)


def timeout(latency_us: FloatColumn, chip: AscendChip) -> Limit:
    """The bench gives a kernel up that runs longer than its ``timeout_s``."""
    have = np.full(len(latency_us), chip.bench.timeout_s * 1e6)
    return Limit("run_time", Failure.timeout, latency_us, have, "us")
