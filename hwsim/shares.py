"""What of a chip one kernel uses, under the same names on every backend."""

from __future__ import annotations

from collections.abc import Mapping

from hwsim.chip import Chip
from hwsim.gpu_sm.chip import GpuChip

_BUFFERS = ("l1", "l0a", "l0b", "l0c", "ub", "sram", "nram", "wram")


def occupancy(counters: Mapping[str, float], fills: Mapping[str, float]) -> float:
    """How full the cores are, 0 to 1.

    On a GPU the warps resident on an SM over the most that it takes.  A core of an Ascend or MLU
    runs one block at a time: there it is how full the block makes the fullest on-chip buffer, all
    copies counted.  ``fills`` are need over have by limit.
    """
    if "occupancy" in counters:
        return counters["occupancy"]
    return min(1.0, max((fills.get(f"{b}_capacity", 0.0) for b in _BUFFERS), default=0.0))


def gpu_utilisation(row: Mapping[str, float], latency_us: float, chip: GpuChip) -> float:
    """Useful MACs over those that all SMs could do in ``latency_us`` at the clock of the chip file.

    The rate is the tensor cores' where the kernel uses them, else that of the FMA lanes, each of
    which does ``intrin_k`` MACs an instruction (dot products of four at 8 bits).
    """
    rate = chip.fma_lanes_sm * max(row["intrin_k"], 1)
    if row["tensor_core"]:
        half = chip.tensor_macs_sm.get("float16", chip.fma_lanes_sm)
        rate = chip.tensor_macs_sm.get("int8", half) if row["in_bits"] <= 8 else half
    most = rate * chip.sms * chip.clock_mhz * latency_us
    return row["macs_useful"] / most if most else 0.0


def shares_of(
    counters: Mapping[str, float],
    row: Mapping[str, float],
    fills: Mapping[str, float],
    latency_us: float,
    chip: Chip,
) -> dict[str, float]:
    """Occupancy, and on a GPU the utilisation that the other models count themselves."""
    found = {"occupancy": occupancy(counters, fills)}
    if isinstance(chip, GpuChip):
        found["utilisation"] = gpu_utilisation(row, latency_us, chip)
    return found
