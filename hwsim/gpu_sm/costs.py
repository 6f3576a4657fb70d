"""The one description of a kernel's costs that both GPU models share.

**Demands** are busy clocks of one SM's units for one block, in three parts: filling shared memory
(``stage``), the arithmetic (``main``), writing results (``epilogue``).  **Paths** are the clocks
that one block needs with the SM to itself, were every unit infinitely wide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from hwsim.columns import GPU_STREAMS
from hwsim.gpu_sm.access import Access, accesses_of, instructions_of, requests_of
from hwsim.gpu_sm.chip import (
    LINE_BYTES,
    MAX_REGISTERS_THREAD,
    SUB_PARTITIONS,
    WARP,
    GpuChip,
)
from hwsim.gpu_sm.occupancy import Occupancy, occupancy_of
from hwsim.gpu_sm.traffic import Traffic, traffic_of
from hwsim.gpu_sm.work import Work, work_of
from hwsim.rows import Rows, total, where

Floats = NDArray[np.float64]

UNITS = ("issue", "fma", "int", "special", "tensor", "lsu", "l2", "dram")
CHIP_WIDE = ("l2", "dram")  # units that all SMs share


@dataclass(frozen=True)
class Costs:
    """Columns ``(n,)``; the dictionaries map a unit to clocks of one block."""

    occupancy: Occupancy
    traffic: Traffic
    work: Work
    stage: dict[str, Floats]
    main: dict[str, Floats]
    epilogue: dict[str, Floats]
    launch_path: Floats  # starting the block, and waiting for its turn in a split reduction
    stage_path: Floats  # waiting for staged tiles, all steps
    compute_path: Floats  # issue and dependences of one warp, all steps
    steps: Floats  # staged steps of one block
    pipelined: NDArray[np.bool_]

    def demand(self, unit: str) -> Floats:
        """All clocks of one block on ``unit``."""
        parts = (self.stage, self.main, self.epilogue)
        return total(part[unit] for part in parts if unit in part)


def costs_of(rows: Rows, chip: GpuChip) -> Costs:
    """Costs of every row; rows that cannot run get finite costs too."""
    occupancy = occupancy_of(rows, chip)
    access, stores = accesses_of(rows, [s for s in GPU_STREAMS if rows.occurs(f"{s}_count")])
    requests = {s: requests_of(rows, s, a, occupancy.warps) for s, a in access.items()}
    traffic = traffic_of(rows, chip, occupancy, access, requests)
    work = work_of(rows, chip, occupancy, access, stores, requests)
    tensor = _tensor(rows, chip, work)
    steps = rows.at_least_one("k_steps") * rows.at_least_one("out_tiles")
    return Costs(
        occupancy=occupancy,
        traffic=traffic,
        work=work,
        stage=_stage(rows, chip, work, traffic),
        main=_main(rows, chip, work, traffic, occupancy) | {"tensor": tensor},
        epilogue=_epilogue(chip, work, traffic),
        launch_path=_launch_path(rows, chip),
        stage_path=_stage_path(rows, chip, access, traffic, steps),
        compute_path=_compute_path(rows, chip, access, work, traffic, tensor),
        steps=steps,
        pipelined=np.asarray(rows["pipeline_stages"] > 1),
    )


def _stage(rows: Rows, chip: GpuChip, work: Work, traffic: Traffic) -> dict[str, Floats]:
    return {
        "issue": work.staging / _issue_rate(rows, chip),
        "lsu": _passes(chip, work.stage_wavefronts) + traffic.stage_tags,
        "l2": _l2(chip, traffic.l2_stage_bytes / work.blocks),
        "dram": _dram(chip, traffic.dram_stage_bytes / work.blocks),
    }


def _main(
    rows: Rows, chip: GpuChip, work: Work, traffic: Traffic, occupancy: Occupancy
) -> dict[str, Floats]:
    passes = total([work.shared_wavefronts, work.spill, traffic.l1_passes])
    l2_bytes = traffic.l2_direct_bytes / work.blocks
    if work.spill.any():
        l2_bytes = l2_bytes + work.spill * WARP * 4 * _spill_missed(rows, chip, occupancy)
    return {
        "issue": (work.instructions - work.staging) / _issue_rate(rows, chip),
        "fma": work.fma * WARP / chip.fma_lanes_sm,
        "int": work.integer * WARP / chip.int_lanes_sm,
        "special": work.special * WARP / chip.special_lanes_sm,
        "lsu": _passes(chip, passes),
        "l2": _l2(chip, l2_bytes),
        "dram": _dram(chip, traffic.dram_direct_bytes / work.blocks),
    }


def _epilogue(chip: GpuChip, work: Work, traffic: Traffic) -> dict[str, Floats]:
    return {
        "lsu": traffic.store_tags,
        "l2": _l2(chip, traffic.l2_write_bytes / work.blocks),
        "dram": _dram(chip, traffic.dram_write_bytes / work.blocks),
    }


def _issue_rate(rows: Rows, chip: GpuChip) -> Floats:
    """Instructions an SM a clock: the schedulers', or what is fetched of code without loops.

    Code beyond the instruction caches comes again for each round of warps: at a rate that falls as
    its length grows.
    """
    held = chip.model.fetch_code / np.maximum(rows["code_macs"] + rows["code_loads"], 1)
    fetched = min(chip.model.fetch_instructions_clk, SUB_PARTITIONS) * np.minimum(held, 1)
    return where(rows["code_macs"] > 0, fetched, float(SUB_PARTITIONS))


def _passes(chip: GpuChip, wavefronts: Floats) -> Floats:
    """Clocks of full-width passes through the banks of L1 and shared memory."""
    return np.asarray(wavefronts * LINE_BYTES / chip.l1_bytes_clk_sm)


def _l2(chip: GpuChip, block_bytes: Floats) -> Floats:
    """Clocks of an SM's share of L2, at most of its own port."""
    whole = chip.sms / (chip.l2_bytes_clk * chip.l2_efficiency)
    return np.asarray(block_bytes * max(whole, 1 / chip.l2_bytes_clk_sm))


def _dram(chip: GpuChip, block_bytes: Floats) -> Floats:
    per_clk = chip.dram_gbps * 1e9 * chip.dram_efficiency / chip.hz
    return np.asarray(block_bytes * chip.sms / per_clk)


def _tensor(rows: Rows, chip: GpuChip, work: Work) -> Floats:
    """Tensor-core clocks by the width of the inputs; a chip without them uses its FMA lanes."""
    if not work.mma.any():
        return np.zeros(1)
    rates = chip.tensor_macs_sm
    half = float(rates.get("float16", chip.fma_lanes_sm))
    rate = where(rows["in_bits"] <= 8, float(rates.get("int8", half)), half)
    return np.asarray(np.where(work.mma > 0, rows["macs"] / work.blocks / rate, 0))


def _spill_missed(rows: Rows, chip: GpuChip, occupancy: Occupancy) -> Floats:
    """Share of spilled values that L1 does not hold."""
    footprint = occupancy.spill_registers * 4 * occupancy.warps * WARP * occupancy.blocks_unshared
    shared = occupancy.blocks_unshared * rows["shared_bytes"]
    l1 = np.maximum(chip.l1_shared_kib * 1024 - shared, 0)
    return np.asarray(1 - np.minimum(l1 / np.maximum(footprint, 1), 1))


def _load_latency(chip: GpuChip, asked: Floats, l2: Floats, dram: Floats) -> Floats:
    """Mean clocks of a load, of whose ``asked`` bytes some come from L2 and of these from DRAM."""
    beyond_l1, beyond_l2 = (np.minimum(part / np.maximum(asked, 1), 1) for part in (l2, dram))
    return np.asarray(
        chip.l1_latency
        + beyond_l1 * (chip.l2_latency - chip.l1_latency)
        + beyond_l2 * (chip.dram_latency - chip.l2_latency)
    )


def _launch_path(rows: Rows, chip: GpuChip) -> Floats:
    waiting = np.maximum(rows["chained_blocks"] - 1, 0)
    return np.asarray(chip.block_launch_clk + waiting * chip.model.handover_clk)


def _stage_path(
    rows: Rows,
    chip: GpuChip,
    access: Mapping[str, Access],
    traffic: Traffic,
    steps: Floats,
) -> Floats:
    """Batches of staged loads one after another, and the barriers.

    Unrolled loads are independent: as many are under way as have a register to go to.  A software
    pipeline has all loads of a step under way, for as many steps as it is ahead.
    """
    model = chip.model
    streams = [s for s in access if s.endswith("_global_shared")]
    loads = total(instructions_of(rows, s, access[s]) for s in streams) / steps
    serial = rows["serial_loads"] > 0
    ahead = where(serial, model.serial_loads_in_flight, model.loads_in_flight)
    unrolled = (rows["unroll"] >= loads) & (rows["stage_loops"] == 0)
    ahead = where(unrolled, float(MAX_REGISTERS_THREAD), ahead)
    batches = np.ceil(loads / ahead)
    stages = rows["pipeline_stages"]
    if (stages > 1).any():
        pipelined = np.minimum(batches, 1) / np.maximum(stages - 1, 1)
        batches = where(stages > 1, pipelined, batches)
    barriers = rows["barriers"] * model.barrier_clk
    latency = _load_latency(
        chip, traffic.asked_stage_bytes, traffic.l2_stage_bytes, traffic.dram_stage_bytes
    )
    return np.asarray(batches * steps * latency + barriers)


def _compute_path(
    rows: Rows,
    chip: GpuChip,
    access: Mapping[str, Access],
    work: Work,
    traffic: Traffic,
    tensor: Floats,
) -> Floats:
    """One warp through its arithmetic, alone on its sub-partition."""
    acc = rows.at_least_one("acc_regs")
    clk = np.maximum(WARP * SUB_PARTITIONS / chip.fma_lanes_sm, chip.fma_latency / acc)
    rest = work.instructions - work.fma - work.mma
    stalls = _operand_stalls(rows, chip, access, work, traffic)
    issued = total([work.fma * clk, SUB_PARTITIONS * tensor, rest])
    return np.asarray(issued / work.warps + stalls)


def _operand_stalls(
    rows: Rows, chip: GpuChip, access: Mapping[str, Access], work: Work, traffic: Traffic
) -> Floats:
    """Waiting for operands: once an iteration, or an access where there are no iterations."""
    direct = _load_latency(
        chip, traffic.asked_direct_bytes, traffic.l2_direct_bytes, traffic.dram_direct_bytes
    )
    latency = {"_shared_local": np.array([chip.shared_latency]), "_global_local": direct}
    rounds = np.where(work.iterations > 0, work.iterations, np.inf)
    stalls = []
    for kind, clk in latency.items():
        streams = [s for s in access if s.endswith(kind) and s[0] != "c"]
        if streams:
            most = reduce(np.maximum, [instructions_of(rows, s, access[s]) for s in streams])
            stalls.append(np.minimum(rounds, most) / chip.model.loads_in_flight * clk)
    return total(stalls)
