"""The analytical model of an NVIDIA GPU: :func:`simulate` answers for a whole kernel table.

An SM works through ``n = ceil(blocks / SMs)`` blocks, ``R`` of them resident.  Its units need ``n``
times a block's demand; the latency of the blocks passes ``ceil(n / R)`` times.  Both overlap, units
with each other and with latency, as p-norms say (exponents in the chip file).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.farm import run_time
from hwsim.gpu_sm.chip import SECTOR_BYTES, SUB_PARTITIONS, GpuChip
from hwsim.gpu_sm.costs import CHIP_WIDE, UNITS, Costs, costs_of
from hwsim.gpu_sm.occupancy import limits
from hwsim.gpu_sm.rows import Rows
from hwsim.result import SimResult, first_exceeded
from hwsim.table import KernelTable

Floats = NDArray[np.float64]

BOTTLENECKS = (*UNITS, "latency", "launch")
_ROWS_AT_ONCE = 25_000  # bounds the memory of temporary columns, which costs most of the time
_LONGEST_US = 1e18  # sizes beyond any machine are answered with this, not with infinity


def simulate(table: KernelTable, chip: GpuChip) -> SimResult:
    """Latency or failure, bottleneck and counters of every kernel of ``table`` on ``chip``.

    Counters: ``occupancy`` (share of the SM's warps), ``waves``, ``registers`` (a thread),
    ``spill_bytes``, ``l1_hit`` (share), ``l2_bytes``, ``dram_bytes``, ``l2_sectors``,
    ``dram_sectors``, ``shared_wavefronts``, ``fma_count``, ``slowdown`` (by the power limit),
    ``<unit>_us`` for every unit and ``path_us`` (what blocks, one after another, would wait).
    """
    starts = range(0, max(table.n, 1), _ROWS_AT_ONCE)
    parts = (Rows(table, slice(start, start + _ROWS_AT_ONCE)) for start in starts)
    return SimResult.concat([_simulate(rows, chip) for rows in parts])


def _simulate(rows: Rows, chip: GpuChip) -> SimResult:
    with np.errstate(over="ignore", invalid="ignore"):
        costs = costs_of(rows, chip)
        times = times_of(costs, chip)
        total = _combined(costs, chip, times) + chip.launch_us
    total = np.minimum(np.nan_to_num(total, nan=_LONGEST_US, posinf=_LONGEST_US), _LONGEST_US)
    checks = (*limits(rows, chip), run_time(total, chip.bench))
    failure, failed = first_exceeded(checks, rows.n)
    launch = np.full(rows.n, chip.launch_us)
    return SimResult(
        latency_us=np.where(failure == 0, total, np.inf),
        failure=failure,
        failed_limit=failed,
        limits=checks,
        bottleneck=_longest([*times.units.values(), times.path, launch]),
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
    factors = _factors(costs, chip)
    units = {u: costs.demand(u) * factors[u] * us for u in UNITS}
    epilogue = {u: clk * factors[u] * us for u, clk in costs.epilogue.items()}
    slow = slowdown(chip, {u: units[u] for u in ("fma", "tensor", "lsu")})
    for times in (units, epilogue):
        times.update({u: v * slow for u, v in times.items() if u not in CHIP_WIDE})
    return Times(units, epilogue, _rounds(costs, chip) * _path(costs) * us * slow, slow)


def _per_sm(costs: Costs, chip: GpuChip) -> Floats:
    return np.asarray(np.ceil(costs.work.blocks / chip.sms))


def _rounds(costs: Costs, chip: GpuChip) -> Floats:
    return np.asarray(np.ceil(_per_sm(costs, chip) / costs.occupancy.blocks_sm))


def _path(costs: Costs) -> Floats:
    """Clocks of one block alone: staging and arithmetic overlap only in software pipelines."""
    serial = costs.stage_path + costs.compute_path
    overlapped = np.maximum(costs.stage_path, costs.compute_path) + costs.stage_path / costs.steps
    return np.asarray(costs.launch_path + np.where(costs.pipelined, overlapped, serial))


def _factors(costs: Costs, chip: GpuChip) -> dict[str, Floats]:
    """Blocks whose demand adds up on a unit, idle sub-partitions included."""
    per_sm = _per_sm(costs, chip)
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
    busy_ms = np.maximum.reduce(list(busy_us.values())) / 1e3
    loss = (1 - chip.sustained_share) * busy_ms / (busy_ms + chip.throttle_ms)
    return np.asarray(1 / (1 - loss))


def _combined(costs: Costs, chip: GpuChip, times: Times) -> Floats:
    """Blocks' main parts, then their epilogues as far as other blocks do not hide them."""
    model = chip.model
    p = np.where(costs.pipelined, model.unit_exponent_pipelined, model.unit_exponent)
    zero = np.zeros_like(p)
    main = _norm([us - times.epilogue.get(u, zero) for u, us in times.units.items()], p)
    q = np.where(costs.pipelined, model.unit_exponent_pipelined, model.path_exponent)
    main = _norm([main, times.path], q)
    hidden = 1 + model.epilogue_overlap * (costs.occupancy.blocks_sm - 1)
    total = _norm([main, _norm(list(times.epilogue.values()), p)], hidden)
    return np.asarray(np.maximum.reduce([total, *times.units.values()]))


def _norm(parts: list[Floats], p: Floats) -> Floats:
    """p-norm over parts, column by column, scaled so that it neither over- nor underflows."""
    used = [part for part in parts if part.any()]
    if len(used) < 2:
        return used[0] if used else np.zeros_like(p)
    top = np.maximum.reduce(used)
    safe = np.maximum(top, 1e-30)
    return np.asarray(top * sum((part / safe) ** p for part in used) ** (1 / p))


def _longest(parts: list[Floats]) -> NDArray[np.int64]:
    """Number of the largest part in every row, the first of equals."""
    longest, most = np.zeros(len(parts[0]), dtype=np.int64), parts[0]
    for number, part in enumerate(parts[1:], 1):
        np.copyto(longest, number, where=part > most)
        most = np.maximum(most, part)
    return longest


def _counters(costs: Costs, chip: GpuChip, times: Times) -> dict[str, Floats]:
    traffic, occupancy, work = costs.traffic, costs.occupancy, costs.work
    counters = {
        "occupancy": occupancy.share,
        "waves": work.blocks / (chip.sms * occupancy.blocks_sm),
        "registers": occupancy.registers,
        "spill_bytes": work.spill * 32 * 4 * work.blocks,
        "l1_hit": traffic.l1_hit,
        "l2_bytes": traffic.l2_bytes,
        "dram_bytes": traffic.dram_bytes,
        "l2_sectors": traffic.l2_bytes / SECTOR_BYTES,
        "dram_sectors": traffic.dram_bytes / SECTOR_BYTES,
        "shared_wavefronts": (work.shared_wavefronts + work.stage_wavefronts) * work.blocks,
        "fma_count": work.fma_macs,
        "slowdown": times.slowdown,
        "path_us": times.path,
    }
    return counters | {f"{unit}_us": us for unit, us in times.units.items()}
