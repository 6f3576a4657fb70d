"""What a chip could attain on a task: the roofline of its useful work, whatever the schedule."""

from __future__ import annotations

from math import prod

import numpy as np

from hwsim.chip import Chip
from pruner.machine import Machine, machine_of
from tuner.workloads import Workload


def attainable_us(workload: Workload, chip: Chip) -> float:
    """Least time for the useful operations at the chip's peak, or for touching every argument once,
    whichever is longer; without launch.

    Half of ``workload.flops`` are taken for multiply-accumulates on the fastest unit for the input
    dtype.  The memory bound is that of :func:`pruner.bounds.memory_us`.
    """
    machine = machine_of(chip)
    moved = argument_bytes(workload)
    rate = machine.offchip_bytes_per_us
    if machine.caches and moved <= machine.cache_bytes:
        rate = max(rate, machine.cache_bytes_per_us)
    return max(workload.flops / 2 / _peak(machine, workload.dtype), moved / rate)


def launch_us(chip: Chip) -> float:
    """What every kernel waits for before it works, whatever the schedule."""
    machine = machine_of(chip)
    return machine.launch_us + machine.core_start_us


def argument_bytes(workload: Workload) -> float:
    """Bytes of the program's inputs and outputs."""
    buffers = [p for p in workload.prim_func().params if hasattr(p, "shape")]
    sizes = (prod(map(int, b.shape)) * np.dtype(str(b.dtype)).itemsize for b in buffers)
    return float(sum(sizes))


def _peak(machine: Machine, dtype: str) -> float:
    """MACs a microsecond of the fastest unit that takes ``dtype``."""
    bits = np.dtype(dtype).itemsize * 8
    return max(machine.tensor_macs_per_us.get(bits, 0.0), machine.macs_per_us)
