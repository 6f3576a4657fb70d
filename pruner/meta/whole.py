"""The chip and the kernel as a whole: what is no node of the graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.features import FEATURES, features, log_least_us
from pruner.machine import Machine, machine_of
from pruner.meta.graph import Floats32

_SMALL = 1e-3  # added before a logarithm: times and shares below it are as good as none


def whole(table: KernelTable, chip: Chip) -> tuple[Floats32, NDArray[np.float64]]:
    """``(n, len(WHOLE_FEATURES))`` and ``(n,)`` the logarithm of the least microseconds.

    Times are taken relative to the least time, everything else as it is; all as logarithms.
    """
    x = features(table, chip)
    log_least = log_least_us(x)
    least = np.exp(log_least)[:, None]
    times = np.array([f.unit == "us" and f.name != "least_us" for f in FEATURES])
    relative = np.where(times, x / least, x)
    kernel = np.log2(np.maximum(relative, 0) + _SMALL)
    chips = np.broadcast_to(chip_features(machine_of(chip)), (len(x), 8))
    return np.concatenate([chips, kernel], axis=1).astype(np.float32), log_least


def chip_features(machine: Machine) -> NDArray[np.float64]:
    """``(8,)`` in the order of ``CHIP_FEATURES``; a chip without a matrix unit counts its lanes."""
    matrix = machine.tensor_macs_per_us
    rates = (
        machine.cores,
        matrix.get(16, max(matrix.values(), default=machine.macs_per_us)),
        machine.macs_per_us,
        machine.offchip_bytes_per_us,
        machine.cache_bytes,
        machine.cache_bytes_per_us / machine.offchip_bytes_per_us,
        machine.launch_us + _SMALL,
    )
    return np.array([*np.log2(rates), float(machine.caches)])
