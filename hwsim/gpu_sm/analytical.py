"""The analytical model of an NVIDIA GPU: :func:`simulate` answers for a whole kernel table.

An SM works through ``n = ceil(blocks / SMs)`` blocks, ``R`` of them resident.  Its units need ``n``
times a block's demand; the latency of the blocks passes ``ceil(n / R)`` times.  Both overlap, units
with each other and with latency, as p-norms say (exponents in the chip file).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from hwsim.farm import run_time
from hwsim.gpu_sm.chip import SECTOR_BYTES, SUB_PARTITIONS, GpuChip
from hwsim.gpu_sm.costs import CHIP_WIDE, UNITS, Costs, costs_of
from hwsim.gpu_sm.occupancy import limits
from hwsim.result import SimResult, first_exceeded, longest
from hwsim.rows import Rows, by_blocks, total, where
from hwsim.table import KernelTable

Floats = NDArray[np.float64]

BOTTLENECKS = (*UNITS, "latency", "launch")
_LONGEST_US = 1e18  # sizes beyond any machine are answered with this, not with infinity


def simulate(table: KernelTable, chip: GpuChip) -> SimResult:
    """Latency or failure, bottleneck and counters of every kernel of ``table`` on ``chip``.

    Counters: ``occupancy`` (share of the SM's warps), ``waves``, ``registers`` (a thread),
    ``spill_bytes``, ``l1_hit`` (share), ``l2_bytes``, ``dram_bytes``, ``l2_sectors``,
    ``dram_sectors``, ``shared_wavefronts``, ``fma_count``, ``slowdown`` (by the power limit),
    ``<unit>_us`` for every unit and ``path_us`` (what blocks, one after another, would wait).
    """
    return by_blocks(table, lambda rows: _simulate(rows, chip))


def _simulate(rows: Rows, chip: GpuChip) -> SimResult:
    with np.errstate(over="ignore", invalid="ignore"):
        costs = costs_of(rows, chip)
        times = times_of(costs, chip)
        latency_us = _combined(costs, chip, times) + chip.launch_us
    latency_us = np.fmin(latency_us, _LONGEST_US)
    checks = (*limits(rows, chip, costs.occupancy), run_time(latency_us, chip.bench))
    failure, failed = first_exceeded(checks, rows.n)
    launch = np.array([chip.launch_us])
    return SimResult(
        latency_us=np.where(failure == 0, latency_us, np.inf),
        failure=failure,
        failed_limit=failed,
        limits=checks,
        bottleneck=longest([*times.units.values(), times.path, launch], rows.n),
        bottleneck_names=BOTTLENECKS,
        counters=_counters(costs, chip, times),
    )


@dataclass(frozen=True)
class Times:
    """Microseconds of a kernel, the power limit's ``slowdown`` applied.

    ``units``: busy time by unit, of which ``epilogue`` writes results; ``path``: the latency chain.
    """

    units: dict[str, Floats]
    epilogue: dict[str, Floats]
    path: Floats
    slowdown: Floats


def times_of(costs: Costs, chip: GpuChip) -> Times:
    """Busy time of every unit over the kernel, and its latency chain."""
    us = 1e6 / chip.hz
    per_sm = np.ceil(costs.work.blocks / chip.sms)
    factors = _factors(costs, chip, per_sm)
    units = {u: costs.demand(u) * factors[u] * us for u in UNITS}
    epilogue = {u: clk * factors[u] * us for u, clk in costs.epilogue.items()}
    slow = slowdown(chip, {u: units[u] for u in ("fma", "tensor", "lsu")})
    for times in (units, epilogue):
        times.update({u: v * slow for u, v in times.items() if u not in CHIP_WIDE})
    rounds = np.ceil(per_sm / costs.occupancy.blocks_sm)
    return Times(units, epilogue, rounds * _path(costs) * us * slow, slow)


def _path(costs: Costs) -> Floats:
    """Clocks of one block alone: staging and arithmetic overlap only in software pipelines."""
    path = costs.stage_path + costs.compute_path
    if costs.pipelined.any():
        longer = np.maximum(costs.stage_path, costs.compute_path)
        path = where(costs.pipelined, longer + costs.stage_path / costs.steps, path)
    return np.asarray(costs.launch_path + path)


def _factors(costs: Costs, chip: GpuChip, per_sm: Floats) -> dict[str, Floats]:
    """Blocks whose demand adds up on a unit, idle sub-partitions included."""
    resident = np.minimum(costs.occupancy.blocks_sm, per_sm)
    warps = costs.occupancy.warps
    # Warps are dealt to four sub-partitions: a block of 5 keeps one of them busy for two.
    dealt = np.ceil(warps / SUB_PARTITIONS) * SUB_PARTITIONS / warps
    uneven = per_sm * (1 + (dealt - 1) / resident)
    shared = costs.work.blocks / chip.sms
    special = {"lsu": per_sm, "l2": shared, "dram": shared}
    return {unit: special.get(unit, uneven) for unit in UNITS}


def slowdown(chip: GpuChip, busy_us: dict[str, Floats]) -> Floats:
    """Factor by which the power limit stretches the SMs' time: long arithmetic lowers the clock."""
    busy_ms = reduce(np.maximum, busy_us.values()) / 1e3
    loss = (1 - chip.sustained_share) * busy_ms / (busy_ms + chip.throttle_ms)
    return np.asarray(1 / (1 - loss))


def _combined(costs: Costs, chip: GpuChip, times: Times) -> Floats:
    """Blocks' main parts, then their epilogues as far as other blocks do not hide them."""
    model = chip.model
    p = where(costs.pipelined, model.unit_exponent_pipelined, model.unit_exponent)
    main_us = times.units | {u: times.units[u] - us for u, us in times.epilogue.items()}
    main = _norm(list(main_us.values()), p)
    q = where(costs.pipelined, model.unit_exponent_pipelined, model.path_exponent)
    main = _norm([main, times.path], q)
    hidden = 1 + model.epilogue_overlap * (costs.occupancy.blocks_sm - 1)
    whole = _norm([main, _norm(list(times.epilogue.values()), p)], hidden)
    return np.asarray(reduce(np.maximum, [whole, *times.units.values()]))


def _norm(parts: list[Floats], p: Floats) -> Floats:
    """p-norm over parts, column by column, scaled so that it neither over- nor underflows."""
    used = [part for part in parts if part.any()]
    if len(used) < 2:
        return used[0] if used else np.zeros_like(p)
    top = reduce(np.maximum, used)
    safe = np.maximum(top, 1e-30)
    if len(used) == 2:  # the larger one's share is 1 and so is its power, which takes long
        share = np.minimum(*used) / safe
        return np.asarray(top * (1 + share**p) ** (1 / p))
    return np.asarray(top * total((part / safe) ** p for part in used) ** (1 / p))


def _counters(costs: Costs, chip: GpuChip, times: Times) -> dict[str, Floats]:
    traffic, occupancy, work = costs.traffic, costs.occupancy, costs.work
    l2_bytes, dram_bytes = traffic.l2_bytes, traffic.dram_bytes
    counters = {
        "occupancy": occupancy.share,
        "waves": work.blocks / (chip.sms * occupancy.blocks_sm),
        "registers": occupancy.registers,
        "spill_bytes": work.spill * 32 * 4 * work.blocks,
        "l1_hit": traffic.l1_hit,
        "l2_bytes": l2_bytes,
        "dram_bytes": dram_bytes,
        "l2_sectors": l2_bytes / SECTOR_BYTES,
        "dram_sectors": dram_bytes / SECTOR_BYTES,
        "shared_wavefronts": (work.shared_wavefronts + work.stage_wavefronts) * work.blocks,
        "fma_count": work.fma_macs,
        "slowdown": times.slowdown,
        "path_us": times.path,
    }
    return counters | {f"{unit}_us": us for unit, us in times.units.items()}
