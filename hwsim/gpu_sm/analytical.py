"""The analytical model of an NVIDIA GPU: :func:`simulate` answers for a whole kernel table.

An SM works through ``n = ceil(blocks / SMs)`` blocks, ``R`` of them resident.  Its units need ``n``
times a block's demand; the latency of the blocks passes ``ceil(n / R)`` times.  Both overlap, units
with each other and with latency, as p-norms say (exponents in the chip file).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hwsim.gpu_sm.chip import SUB_PARTITIONS, GpuChip
from hwsim.gpu_sm.costs import UNITS, Costs, costs_of
from hwsim.gpu_sm.occupancy import limits
from hwsim.result import SimResult, first_exceeded
from hwsim.table import KernelTable

Floats = NDArray[np.float64]

_CHIP_WIDE = ("l2", "dram")  # units that all SMs share
BOTTLENECKS = (*UNITS, "latency", "launch")


def simulate(table: KernelTable, chip: GpuChip) -> SimResult:
    """Latency or failure, bottleneck and counters of every kernel of ``table`` on ``chip``.

    Counters: ``occupancy`` (share of the SM's warps), ``waves``, ``registers`` (a thread),
    ``spill_bytes``, ``l1_hit`` (share), ``l2_bytes``, ``dram_bytes``, ``l2_sectors``,
    ``dram_sectors``, ``shared_wavefronts``, ``fma_count``, ``<unit>_us`` for every unit and
    ``latency_us`` (what one block after another would wait).
    """
    checks = limits(table, chip)
    failure, failed = first_exceeded(checks, table.n)
    costs = costs_of(table, chip)
    unit_us, epilogue_us, path_us = _times(costs, chip)
    total = _combined(costs, chip, unit_us, epilogue_us, path_us) + chip.launch_us
    parts = np.stack([*unit_us.values(), path_us, np.full(table.n, chip.launch_us)])
    return SimResult(
        latency_us=np.where(failure == 0, total, np.inf),
        failure=failure,
        failed_limit=failed,
        limits=checks,
        bottleneck=np.asarray(parts.argmax(axis=0), dtype=np.int64),
        bottleneck_names=BOTTLENECKS,
        counters={**_counters(costs, chip), "path_us": path_us}
        | {f"{unit}_us": us for unit, us in unit_us.items()},
    )


def _times(
    costs: Costs, chip: GpuChip
) -> tuple[dict[str, Floats], dict[str, Floats], Floats]:
    """Busy microseconds of every unit over the kernel, those of its epilogues, and the latency."""
    us = 1e6 / chip.hz
    per_sm = np.ceil(costs.blocks / chip.sms)
    rounds = np.ceil(per_sm / costs.occupancy.blocks_sm)
    path = np.where(
        costs.pipelined,
        np.maximum(costs.stage_path, costs.compute_path) + costs.stage_path / costs.steps,
        costs.stage_path + costs.compute_path,
    )
    factors = _factors(costs, chip, per_sm)
    whole = {u: clk * factors[u] * us for u, clk in costs.demand.items()}
    epilogue = {u: clk * factors[u] * us for u, clk in costs.epilogue.items()}
    return whole, epilogue, rounds * path * us


def _factors(costs: Costs, chip: GpuChip, per_sm: Floats) -> dict[str, Floats]:
    """Blocks whose demand adds up on a unit, idle sub-partitions included."""
    resident = np.minimum(costs.occupancy.blocks_sm, per_sm)
    warps = costs.occupancy.warps
    # Warps are dealt to four sub-partitions: a block of 5 keeps one of them busy for two.
    dealt = np.ceil(warps / SUB_PARTITIONS) * SUB_PARTITIONS / warps
    uneven = per_sm * (1 + (dealt - 1) / resident)
    shared = costs.blocks / chip.sms
    special = {"lsu": per_sm, "l2": shared, "dram": shared}
    return {unit: special.get(unit, uneven) for unit in UNITS}


def _combined(
    costs: Costs,
    chip: GpuChip,
    unit_us: dict[str, Floats],
    epilogue_us: dict[str, Floats],
    path_us: Floats,
) -> Floats:
    """Blocks' main parts, then their epilogues as far as other blocks do not hide them."""
    model = chip.model
    p = np.where(costs.pipelined, model.unit_exponent_pipelined, model.unit_exponent)
    slow = _slowdown(chip, unit_us)
    units = {u: us if u in _CHIP_WIDE else us * slow for u, us in unit_us.items()}
    last = {u: us if u in _CHIP_WIDE else us * slow for u, us in epilogue_us.items()}
    main = _norm([us - last.get(u, np.zeros(len(p))) for u, us in units.items()], p)
    main = _norm([main, path_us * slow], np.full(len(p), model.path_exponent))
    hidden = 1 + model.epilogue_overlap * (costs.occupancy.blocks_sm - 1)
    total = _norm([main, _norm(list(last.values()), p)], hidden)
    return np.asarray(np.maximum.reduce([total, *units.values()]))


def _slowdown(chip: GpuChip, unit_us: dict[str, Floats]) -> Floats:
    """Factor by which the power limit stretches the SMs' time: long arithmetic lowers the clock."""
    busy_ms = np.maximum.reduce([unit_us[unit] for unit in ("fma", "tensor", "lsu")]) / 1e3
    loss = (1 - chip.sustained_share) * busy_ms / (busy_ms + chip.throttle_ms)
    return np.asarray(1 / (1 - loss))


def _norm(parts: list[Floats], p: Floats) -> Floats:
    """p-norm over parts, column by column, scaled so that it neither over- nor underflows."""
    top = np.maximum.reduce(parts)
    safe = np.maximum(top, 1e-30)
    return np.asarray(top * sum((part / safe) ** p for part in parts) ** (1 / p))


def _counters(costs: Costs, chip: GpuChip) -> dict[str, Floats]:
    traffic, occupancy = costs.traffic, costs.occupancy
    return {
        "occupancy": occupancy.share,
        "waves": costs.blocks / (chip.sms * occupancy.blocks_sm),
        "registers": occupancy.registers,
        "spill_bytes": costs.spill_bytes,
        "l1_hit": traffic.l1_hit,
        "l2_bytes": traffic.l2_bytes,
        "dram_bytes": traffic.dram_bytes,
        "l2_sectors": traffic.l2_bytes / 32,
        "dram_sectors": traffic.dram_bytes / 32,
        "shared_wavefronts": costs.shared_wavefronts,
        "fma_count": costs.fma_count,
    }
