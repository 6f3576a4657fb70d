"""What each transfer and each instruction of a block costs: the hardware that both models share.

The analytical model and the discrete-event model differ in how they overlap these, not in what
they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hwsim.ascend_cube.chip import AscendChip, Mover
from hwsim.ascend_cube.memory import READS, Traffic, runs_of, traffic
from hwsim.ascend_cube.placement import Placement, place
from hwsim.result import FloatColumn
from hwsim.rows import Rows

_BUFFER = {"a_gm_l1": "l1", "b_gm_l1": "l1", "x_gm_ub": "ub", "c_ub_gm": "ub", "c_l0c_gm": "l0c"}
_MOVER = {
    "a_gm_l1": "gm_l1",
    "b_gm_l1": "gm_l1",
    "x_gm_ub": "gm_ub",
    "c_ub_gm": "ub_gm",
    "c_l0c_gm": "l0c_gm",
    "a_l1_l0a": "l1_l0a",
    "b_l1_l0b": "l1_l0b",
}


@dataclass(frozen=True)
class Transfer:
    """A stream of one core: ``count`` transfers in its life, each ``(n,)``.

    One transfer occupies its mover for ``busy_us``; its data is there ``latency_us`` later.
    ``waited`` is 1 where the mover waits for that, having only one buffer to fill, else 0.
    """

    count: FloatColumn
    busy_us: FloatColumn
    latency_us: FloatColumn
    waited: FloatColumn

    @property
    def held_us(self) -> FloatColumn:
        """Time of one transfer on its mover, ``(n,)``."""
        return np.asarray(self.busy_us + self.latency_us * self.waited)

    @property
    def hidden_us(self) -> FloatColumn:
        """What the first user waits for beyond ``held_us``, ``(n,)``."""
        return np.asarray(self.latency_us * (1 - self.waited))

    @property
    def total_us(self) -> FloatColumn:
        """Time that the stream holds the mover, ``(n,)``."""
        return np.asarray(self.count * self.held_us)


@dataclass(frozen=True)
class Costs:
    """Costs of a full block on its core, all columns ``(n,)``, times in microseconds.

    ``start_us`` is the fixed cost of a block, ``hbm_us`` the time in which the HBM can serve the
    whole kernel.  ``mmad_us`` is one MMAD right behind another, ``mmad_cold_us`` one that found the
    cube idle.  ``vector_us`` is one pass of ``vector_count``, which go through UB in
    ``vector_stages``; ``scalar_us`` is all of the scalar unit's work.
    """

    where: Placement
    traffic: Traffic
    transfers: Mapping[str, Transfer]
    mmad_count: FloatColumn
    mmad_us: FloatColumn
    mmad_cold_us: FloatColumn
    vector_count: FloatColumn
    vector_us: FloatColumn
    vector_stages: FloatColumn
    scalar_us: FloatColumn
    launch_us: float
    start_us: float
    hbm_us: FloatColumn

    def kernel_us(self, block_us: FloatColumn) -> FloatColumn:
        """Latency of the kernel from the time of one full block, ``(n,)``."""
        core_us = self.where.rounds * (self.start_us + block_us)
        return np.asarray(self.launch_us + np.maximum(core_us, self.start_us + self.hbm_us))


def costs_of(rows: Rows, chip: AscendChip) -> Costs:
    """Cost of every transfer and instruction of every row."""
    where = place(rows, chip)
    flow = traffic(rows, chip, where)
    us = 1.0 / chip.clock_mhz
    transfers = {s: _transfer(rows, chip, s, where, flow) for s in _MOVER}
    blocks = _mmad_blocks(rows, chip)
    instructions, vector_cycles = _vector(rows, chip, where)
    passes = rows["vec_count"] / where.vector_split
    issued = sum(t.count for t in transfers.values()) + rows["mm_count"] + instructions
    issued = issued + _scalar_ops(rows, where)
    return Costs(
        where=where,
        traffic=flow,
        transfers=transfers,
        mmad_count=rows["mm_count"],
        mmad_us=(blocks + chip.mmad_issue_cycles) * us,
        mmad_cold_us=(blocks + chip.mmad_startup_cycles) * us,
        vector_count=passes,
        vector_us=np.where(passes > 0, vector_cycles / np.maximum(passes, 1e-300), 0.0) * us,
        vector_stages=_stages(rows, where, transfers["x_gm_ub"], transfers["c_ub_gm"], passes),
        scalar_us=np.asarray(issued * chip.scalar_issue_cycles * us),
        launch_us=chip.launch_us,
        start_us=chip.core_start_us,
        hbm_us=flow.hbm_bytes / (chip.hbm_gb_per_s * 1e3),
    )


def _transfer(
    rows: Rows, chip: AscendChip, stream: str, where: Placement, flow: Traffic
) -> Transfer:
    mover: Mover = getattr(chip, _MOVER[stream])
    us = 1.0 / chip.clock_mhz
    payload = rows[f"{stream}_bytes"]
    count = rows[f"{stream}_count"]
    rate: FloatColumn | float = mover.bytes_per_cycle
    if stream in flow.moved:
        aligned = rows[f"{stream}_align_bytes"] >= chip.vector_block_bytes
        rate = np.where(aligned, mover.bytes_per_cycle, mover.unaligned_bytes_per_cycle)
    busy = np.maximum(mover.startup_cycles + payload / rate, mover.min_cycles) * us
    buffers = rows[f"{_BUFFER[stream]}_buffers"] if stream in _BUFFER else None
    waited = np.zeros(1) if buffers is None else np.where(buffers > 1, 0.0, 1.0)
    if stream in flow.moved:
        busy = np.maximum(busy, _shared_us(rows, chip, stream, where, flow))
    latency = np.where(count > 0, mover.latency_cycles + _miss_cycles(stream, flow, chip), 0.0)
    if stream in ("x_gm_ub", "c_ub_gm"):
        count = count / where.vector_split
    return Transfer(count, np.where(count > 0, busy, 0.0), latency * us, waited)


def _miss_cycles(stream: str, flow: Traffic, chip: AscendChip) -> FloatColumn | float:
    """Mean latency that L2 misses add to a read; writes do not wait for the HBM."""
    return flow.miss_share(stream) * chip.hbm_latency_cycles if stream in READS else 0.0


def _shared_us(
    rows: Rows, chip: AscendChip, stream: str, where: Placement, flow: Traffic
) -> FloatColumn:
    """Time of one transfer when all active cores draw on L2 and HBM at once.

    Runs, misses and hits add up: hit rates of 0.005 % to 93.8 % are met within 2 % that way, and
    not by the larger of the two.  Reads of the same line by several cores are served one by one.
    """
    mover: Mover = getattr(chip, _MOVER[stream])
    runs = runs_of(rows, stream, chip.l2_line_bytes)
    miss = flow.miss_share(stream) if stream in READS else 0.0
    active = where.active * (where.vector_split if stream.endswith(("ub", "ub_gm")) else 1.0)
    hits_us = runs.count * mover.run_ns * 1e-3 + runs.bytes * (1 - miss) / (chip.l2_gb_per_s * 1e3)
    misses_us = runs.bytes * miss / (chip.hbm_gb_per_s * 1e3)
    fluid = active * (hits_us + misses_us * where.work_share)
    sharers = {"a_gm_l1": where.a_sharers, "b_gm_l1": where.b_sharers}.get(stream)
    if sharers is None:
        return np.asarray(fluid)
    together = flow.moved[stream] / np.maximum(flow.moved["a_gm_l1"] + flow.moved["b_gm_l1"], 1)
    serial = runs.lines * sharers * chip.same_address_ns * 1e-3
    return np.maximum(fluid, serial * together)


def _mmad_blocks(rows: Rows, chip: AscendChip) -> FloatColumn:
    """Cycles of one MMAD at one block a cycle: ``ceil(m/16) ceil(n/16) ceil(k/k0)``."""
    bits = rows["in_bits"]
    k0 = np.select(
        [bits <= 8, bits <= 16],
        [chip.cube_k["int8"], chip.cube_k["float16"]],
        chip.cube_k["float32"],
    )
    m = np.ceil(rows["mm_m"] / chip.cube_m)
    n = np.ceil(rows["mm_n"] / chip.cube_n)
    return np.asarray(m * n * np.ceil(rows["mm_k"] / k0))


def _vector(rows: Rows, chip: AscendChip, where: Placement) -> tuple[FloatColumn, FloatColumn]:
    """``(instructions, cycles)`` of the vector work that one vector core does for a block.

    Simple operations go over the bytes of the passes at least once, and over as many more as the
    operations need; an instruction takes one contiguous run.  A pass starts when the pass before
    it is through.
    """
    element = np.maximum(rows["acc_bits"] / 8, 1)
    passes = rows["vec_count"]
    run = rows["vec_run_bytes"]
    run = np.maximum(np.where(run > 0, run, rows["vec_bytes"]), element)
    simple = np.maximum(passes * rows["vec_bytes"], _element_ops(rows, where) * element)
    instructions = np.where(passes > 0, simple / run, 0.0)
    each = np.maximum(np.ceil(run / chip.vector_bytes_per_cycle), chip.vector_issue_cycles)
    special = rows["special_ops"] / np.maximum(where.blocks, 1)
    special = np.where(passes > 0, special / chip.special_elements_per_cycle, 0.0)
    cycles = instructions * each + special + passes * chip.vector_startup_cycles
    return instructions / where.vector_split, cycles / where.vector_split


def _stages(
    rows: Rows, where: Placement, x: Transfer, c: Transfer, passes: FloatColumn
) -> FloatColumn:
    """Tiles that go through UB one after another: between the fewest and the most transfers."""
    most = np.maximum(x.count, c.count)
    fewest = np.where(np.minimum(x.count, c.count) > 0, np.minimum(x.count, c.count), most)
    tiles = rows["out_tiles"] * rows["k_steps"] / where.vector_split
    some = (most > 0) | (passes > 0)
    return np.where(some, np.maximum(np.ceil(np.clip(tiles, fewest, most)), 1), 0.0)


def _element_ops(rows: Rows, where: Placement) -> FloatColumn:
    """Element operations of one block outside the cube; MACs among them where it is not used."""
    macs = np.where(where.cube, 0.0, rows["macs"])
    return np.asarray((rows["alu_ops"] + macs) / np.maximum(where.blocks, 1))


def _scalar_ops(rows: Rows, where: Placement) -> FloatColumn:
    """Operations of one block left to the scalar unit: those of a kernel without vector passes.

    Next to the cube they are the fixpipe's (casts and ReLU on the way out), at no cost.
    """
    special = rows["special_ops"] / np.maximum(where.blocks, 1)
    idle = (rows["vec_count"] == 0) & ~where.cube
    return np.where(idle, _element_ops(rows, where) + special, 0.0)
