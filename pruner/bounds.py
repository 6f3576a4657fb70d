"""Latencies that no schedule of the hardware can beat: the busiest component at its peak."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.machine import blocks_of, machine_of
from pruner.movers import movers_us
from pruner.once import once_a_table
from pruner.traffic import Traffic, traffic_of

Floats = NDArray[np.float64]


@once_a_table
def compute_us(table: KernelTable, chip: Chip) -> Floats:
    """``(n,)`` least time for the MACs: the busiest core has ceil(blocks / cores) blocks to do."""
    machine = machine_of(chip)
    blocks = blocks_of(table)
    cores = machine.cores_for(table)
    waves = machine.rounds(table)
    rate = machine.peak(table) / cores
    out: Floats = waves * table["macs"] / blocks / np.maximum(rate, 1e-9)
    return out


def memory_us(table: KernelTable, chip: Chip, traffic: Traffic) -> Floats:
    """``(n,)`` least time for touching each distinct byte once, given the table's ``traffic``.

    Where everything fits the cache, an earlier launch may have left it there: then the cache's rate
    is the bound.  Without a cache (the MLU) every byte that is moved crosses the chip's edge.
    """
    machine = machine_of(chip)
    if not machine.caches:
        return (
            traffic.offchip_bytes
            * np.minimum(table["work_share"], 1.0)
            / machine.offchip_bytes_per_us
        )
    unique = traffic.unique_bytes
    return unique / machine.memory_bytes_per_us(unique)


@once_a_table
def least_us(table: KernelTable, chip: Chip) -> Floats:
    """``(n,)`` lower bound of a kernel's latency: its starts, then all that is busy, overlapped."""
    machine = machine_of(chip)
    compute, memory = compute_us(table, chip), memory_us(table, chip, traffic_of(table))
    start = machine.launch_us + machine.rounds(table) * machine.core_start_us
    moved = movers_us(table, chip, machine)
    return np.asarray(start + np.maximum(np.maximum(compute, memory), moved))
