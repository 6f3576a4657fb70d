"""A first guess of every latency, from the kernel table and the data sheet alone.

A lower bound says what cannot be good; of many candidates with the same bound it does not say which
one is.  The draft adds what the bound leaves out: traffic beyond the distinct bytes, engines that
wait for each other where a buffer has one copy, on a GPU the warps that it takes to hide latency.
It is rough, needs no measurement and is fitted to none; it orders candidates until a run has
measurements to learn from, and prunes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.cpu.chip import CpuChip
from hwsim.gpu_sm.chip import WARP, GpuChip
from hwsim.gpu_sm.occupancy import occupancy_of
from hwsim.rows import Rows
from hwsim.table import KernelTable
from pruner.core import core_us, fetch_us
from pruner.features import Columns, row_features
from pruner.machine import blocks_of, machine_of
from pruner.movers import carriers_us
from pruner.traffic import streams_of, traffic_of
from pruner.vector_unit import passes_us

Floats = NDArray[np.float64]

LEAST_LINE_USE = 1 / 32  # one byte of a sector
INDEPENDENT = 8.0  # accumulators of a thread whose FMAs follow each other without waiting, at most
SPILL_TRIPS = 4.0  # accesses of a spilled register for one of a kept one


def draft_us(table: KernelTable, chip: Chip) -> Floats:
    """``(n_candidates,)`` guessed microseconds; ``KeyError`` for a backend that has no draft."""
    of_backend = DRAFTS[chip.backend]
    rows = of_backend(table, chip, row_features(table, chip)) if table.n else np.zeros(0)
    return np.asarray(table.per_candidate(rows), dtype=np.float64)


def _npu(table: KernelTable, chip: Chip, of: Columns) -> Floats:
    """Two pipelines, one in the other: bytes come to the staging memory, and from there to the
    operands' while the unit computes.  What goes straight to the operands' is staged there.

    Rounds count by as many cores as there may be: a guess that is too low costs a measurement, of
    which the cost model learns; one that is twice too high hides a candidate from the whole run.
    """
    machine = machine_of(chip)
    rounds = machine.fewest_rounds(table)
    fewer = rounds / machine.rounds(table)
    across, within = (fewer * us for us in carriers_us(table, chip, machine))
    across = np.maximum(across, _refetched_us(table, chip, of))
    across = across + fewer * of["transfers_core"] * machine.transfer_wait_us
    filling = 1 / np.maximum(of["block_steps"], 1)  # a pipeline fills once
    staged = np.where(within > 0, 1.0, of["inner_depth"])
    copies = np.maximum(of["stage_depth"], staged)
    core = _overlapped([fewer * of["compute_us"], within], of["inner_depth"], filling)
    vector = rounds * passes_us(table, chip, machine)
    start = machine.launch_us + rounds * machine.core_start_us
    return np.asarray(start + _overlapped([core, across, vector], copies, filling))


def _overlapped(parts: Sequence[Floats], copies: Floats, filling: Floats) -> Floats:
    """One after the other where a buffer has one copy; with two the longest hides the others, but
    for the share of the first filling.
    """
    longest, one_by_one = reduce(np.maximum, parts), reduce(np.add, parts)
    exposed = np.where(copies >= 2, filling, 1.0)
    return np.asarray(longest + exposed * (one_by_one - longest))


def _refetched_us(table: KernelTable, chip: Chip, of: Columns) -> Floats:
    """All bytes that cross the edge of the cores: the distinct ones at the rate of where they come
    from, what comes again at the cache's, which may have kept it.
    """
    machine, crossing = machine_of(chip), _crossing_bytes(table, of)
    unique = traffic_of(table).unique_bytes
    once = np.minimum(unique, crossing)
    first, again = (machine.memory_bytes_per_us(held) for held in (unique, np.zeros(table.n)))
    return np.asarray(once / first + (crossing - once) / again)


def _crossing_bytes(table: KernelTable, of: Columns) -> Floats:
    """``(n,)`` bytes of the memory lines that cross the edge of the cores, used or not."""
    used = np.maximum(of["line_use"], LEAST_LINE_USE)
    return np.asarray(traffic_of(table).offchip_bytes / used)


def _gpu(table: KernelTable, chip: Chip, of: Columns) -> Floats:
    """Units of an SM, L2 and DRAM, and the waiting of the warps: the root of the sum of squares, so
    that what is longest counts most.
    """
    gpu, machine, traffic = cast(GpuChip, chip), machine_of(chip), traffic_of(table)
    threads = np.maximum(table["threads"], 1)
    blocks_sm = np.ceil(blocks_of(table) / gpu.sms)
    resident = np.minimum(np.maximum(occupancy_of(Rows(table), gpu).blocks_sm, 1), blocks_sm)
    idle_lanes = np.ceil(threads / WARP) * WARP / threads
    crossing = _crossing_bytes(table, of)
    l1_bytes = (
        (traffic.onchip_bytes * of["conflict_ways"] + crossing) * idle_lanes / of["wave_fill"]
    )
    l2_rate = min(gpu.l2_bytes_clk, gpu.l2_bytes_clk_sm * gpu.sms) * gpu.clock_mhz
    units = [
        _arithmetic_us(table, gpu, of, resident * threads, idle_lanes),
        l1_bytes / (gpu.l1_bytes_clk_sm * gpu.sms * gpu.clock_mhz),
        crossing / l2_rate,
        of["unique_us"],
    ]
    busy = _together(units) * (1 + SPILL_TRIPS * of["spill_share"])
    cached = traffic.unique_bytes <= machine.cache_bytes
    latency = np.where(cached, gpu.l2_latency, gpu.dram_latency) / gpu.clock_mhz
    waiting = np.ceil(blocks_sm / resident) * _waits(table, gpu) * latency
    return np.asarray(gpu.launch_us + _together([busy, waiting]))


def _together(parts: Sequence[Floats]) -> Floats:
    """``(n,)`` root of the sum of squares; unlike ``np.hypot`` it is the same on every machine."""
    return np.asarray(np.sqrt(reduce(np.add, [us * us for us in parts])))


def _arithmetic_us(
    table: KernelTable, gpu: GpuChip, of: Columns, threads_sm: Floats, idle_lanes: Floats
) -> Floats:
    """An FMA waits ``fma_latency`` clocks for the one before, unless other threads or accumulators
    have one to issue meanwhile (Little's law).
    """
    in_flight = threads_sm * np.clip(table["acc_regs"], 1, INDEPENDENT)
    fed = np.minimum(in_flight / (gpu.fma_lanes_sm * gpu.fma_latency), 1.0)
    lanes = np.where(table["tensor_core"] > 0, 1.0, idle_lanes)
    return np.asarray(
        of["compute_us"] / fed * lanes + of["vector_us"] * idle_lanes / of["wave_fill"]
    )


def _waits(table: KernelTable, gpu: GpuChip) -> Floats:
    """Times that a thread waits for loads from outside the SM, several of which are in flight."""
    waits = np.zeros(table.n)
    for into in ("shared", "local"):
        loads = [f"{s}_count" for s in streams_of("gpu_sm")[0] if s.endswith(into)]
        count = sum((table[c] for c in loads if c in table.columns), np.zeros(table.n))
        waits = waits + np.ceil(count / gpu.model.loads_in_flight)
    return waits / np.maximum(table["pipeline_stages"], 1)


def _cpu(table: KernelTable, chip: Chip, of: Columns) -> Floats:
    """The core on the multiply-accumulates and what its caches fetch meanwhile; then the
    elementwise work with the lanes that it uses.
    """
    cpu, machine = cast(CpuChip, chip), machine_of(chip)
    main = _together([core_us(table, cpu), fetch_us(table, cpu)])
    vector = of["vector_us"] / (of["occupancy"] * of["core_share"])
    return np.asarray(
        machine.launch_us + np.where(table["macs"] > 0, main, of["unique_us"]) + vector
    )


DRAFTS = {"ascend_cube": _npu, "mlu_sram": _npu, "gpu_sm": _gpu, "cpu": _cpu}
