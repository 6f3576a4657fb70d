"""Analytical model of an Ascend chip: every kernel of a table at once.

A block is a software pipeline of queues (MTE2, MTE1, M, FIX; on the vector core MTE2, V, MTE3)
coupled by buffers.  With ``b`` copies of a buffer between two stages of ``p`` and ``c``
microseconds the period of the pipeline is at least ``(p + c) / b``: the cycle time of a marked
graph (Ramamoorthy and Ho, IEEE TSE 1980).  One copy serialises, two overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hwsim.ascend_cube.chip import AscendChip
from hwsim.ascend_cube.costs import Costs, costs_of
from hwsim.ascend_cube.limits import limits
from hwsim.chip import Chip
from hwsim.farm import run_time
from hwsim.result import FloatColumn, SimResult, first_exceeded, longest
from hwsim.rows import Rows, by_blocks
from hwsim.table import KernelTable

PIPES = ("mac", "mte1", "mte2", "fix", "vec", "mte3", "scalar")
BOTTLENECKS = (*PIPES, "hbm", "launch", "capacity")


def simulate(table: KernelTable, chip: Chip) -> SimResult:
    """Latency or failure, bottleneck and counters of ``n`` kernels, ``(n,)`` each.

    Counters: ``{pipe}_us`` busy time of a pipe, mean over the cores in use, as msOpProf reports it;
    ``core_us`` the time of the busiest core; ``hbm_bytes``, ``l2_bytes``, ``l2_hit_rate``;
    ``padding_waste`` share of the cube's MACs that are padding; ``core_utilisation`` and
    ``cube_utilisation`` shares of the chip's cores and of its peak MACs.
    """
    if not isinstance(chip, AscendChip):
        raise TypeError(f"expected an AscendChip, got {type(chip).__name__}")
    return by_blocks(table, lambda rows: _simulate(rows, chip))


def _simulate(rows: Rows, chip: AscendChip) -> SimResult:
    with np.errstate(over="ignore", invalid="ignore"):  # beyond float64: a time-out
        costs = costs_of(rows, chip)
        phases = _phases(rows, costs)
        latency_us = costs.kernel_us(phases.block_us)
    return _result(rows, chip, costs, phases, latency_us)


@dataclass(frozen=True)
class Phases:
    """Times of one full block, ``(n,)`` in us: of the block, and of each pipe in :data:`PIPES`."""

    block_us: FloatColumn
    pipes: dict[str, FloatColumn]


def _phases(rows: Rows, costs: Costs) -> Phases:
    cube_us, cube_pipes = _cube(rows, costs)
    vector_us, vector_pipes = _vector(rows, costs)
    tiles = np.maximum(rows["out_tiles"], 1)
    longer, shorter = np.maximum(cube_us, vector_us), np.minimum(cube_us, vector_us)
    block_us = np.maximum(longer + shorter / tiles, costs.scalar_us)
    mte2 = np.where(costs.where.cube, cube_pipes.pop("mte2"), vector_pipes.pop("mte2"))
    return Phases(block_us, {**cube_pipes, **vector_pipes, "mte2": mte2, "scalar": costs.scalar_us})


def _cube(rows: Rows, costs: Costs) -> tuple[FloatColumn, dict[str, FloatColumn]]:
    """Time of the cube core for one block, and of its pipes.

    Three nested pipelines: MTE1 against M through L0A/L0B, MTE2 against those through L1, and the
    fixpipe against all through L0C.  ``load`` is one stage of L1, ``step`` one MMAD.
    """
    t = costs.transfers
    steps = np.maximum(costs.mmad_count, 1)
    loads = np.maximum(np.maximum(t["a_gm_l1"].count, t["b_gm_l1"].count), 1)
    tiles = np.maximum(rows["out_tiles"], 1)
    a0_us, b0_us = t["a_l1_l0a"].total_us / steps, t["b_l1_l0b"].total_us / steps
    mac_us, step_us = _step(rows, costs, a0_us, b0_us)
    feed_us = step_us * steps / loads
    mte2_us = (t["a_gm_l1"].total_us + t["b_gm_l1"].total_us) / loads
    reuse_us = _l1_reuse(rows, costs, step_us, a0_us, b0_us) / loads
    load_us = np.maximum(np.maximum(mte2_us, feed_us), reuse_us)
    arrive_us = np.maximum(t["a_gm_l1"].hidden_us, t["b_gm_l1"].hidden_us)
    fill_us = mte2_us + arrive_us + feed_us - step_us + a0_us + b0_us + mac_us
    fix_us = t["c_l0c_gm"].total_us / tiles
    exposed = _exposed_fix(rows, fix_us, load_us - feed_us, loads / tiles)
    loop_us = (loads - 1) * load_us + (tiles - 1) * exposed
    many = rows["l0c_buffers"] > 1
    loop_us = np.where(many, np.maximum(loop_us, (tiles - 1) * fix_us), loop_us)
    total = np.where(costs.where.cube, fill_us + loop_us + fix_us, 0.0)
    starved = np.where(load_us > feed_us, loads, 0.0)
    mac = np.minimum(mac_us * steps + starved * (costs.mmad_cold_us - mac_us), load_us * loads)
    mac = np.where(costs.where.cube, mac, 0.0)
    mte1_us = (a0_us + b0_us) * steps
    return total, {"mac": mac, "mte1": mte1_us, "mte2": mte2_us * loads, "fix": fix_us * tiles}


def _step(
    rows: Rows, costs: Costs, a0_us: FloatColumn, b0_us: FloatColumn
) -> tuple[FloatColumn, FloatColumn]:
    """``(mac_us, step_us)``: one MMAD, and its period while L1 is full.

    MTE1 brings A, then B.  With one L0A both wait for the MMAD before; with one L0B only B does.
    The cube is cold behind a single buffer or a slower MTE1, else warm.
    """
    one_a, one_b = rows["l0a_buffers"] <= 1, rows["l0b_buffers"] <= 1
    mte1_us = a0_us + b0_us
    overlapped = np.clip(mte1_us, costs.mmad_us, costs.mmad_cold_us)
    mac_us = np.where(one_a | one_b, costs.mmad_cold_us, overlapped)
    mac_us = np.where(costs.mmad_count > 0, mac_us, 0.0)
    waits_us = np.where(one_a, mte1_us + mac_us, np.where(one_b, b0_us + mac_us, 0.0))
    return mac_us, np.maximum(np.maximum(mte1_us, mac_us), waits_us)


def _l1_reuse(
    rows: Rows, costs: Costs, step_us: FloatColumn, a0_us: FloatColumn, b0_us: FloatColumn
) -> FloatColumn:
    """Least time of a block's loop for its L1 slots to be filled and read in turn.

    A slot is taken from the start of its load until MTE1 has read it for the last MMAD.  Loads of A
    and B that alternate wait for each other, and with one slot they always do.
    """
    a, b = costs.transfers["a_gm_l1"], costs.transfers["b_gm_l1"]
    steps, slots = np.maximum(costs.mmad_count, 1), rows["l1_buffers"]
    loads = np.maximum(np.maximum(a.count, b.count), 1)
    arrive_us = np.maximum(a.hidden_us, b.hidden_us)
    both = a.total_us + b.total_us + loads * (arrive_us + a0_us + b0_us - step_us) + steps * step_us
    a_alone = a.count * (a.held_us + a.hidden_us + a0_us - step_us) + steps * step_us
    b_alone = b.count * (b.held_us + b.hidden_us + b0_us - step_us) + steps * step_us
    apart = np.maximum(np.where(a.count > 0, a_alone, 0), np.where(b.count > 0, b_alone, 0))
    together = (slots <= 1) | (a.count == b.count)
    return np.where(together, both, apart) / np.maximum(slots, 1)


def _exposed_fix(
    rows: Rows, fix_us: FloatColumn, gap_us: FloatColumn, loads_of_tile: FloatColumn
) -> FloatColumn:
    """What the fixpipe of one tile adds to a block whose only L0C buffer it drains.

    L1 goes on filling meanwhile while it has free slots, and the cube catches up in the gaps of a
    load, ``gap_us`` each, in which it would have waited anyway.
    """
    gaps = np.minimum(np.maximum(rows["l1_buffers"], 1), loads_of_tile)
    exposed = np.maximum(fix_us - gaps * gap_us, 0)
    return np.where(rows["l0c_buffers"] > 1, 0.0, exposed)


def _vector(rows: Rows, costs: Costs) -> tuple[FloatColumn, dict[str, FloatColumn]]:
    """Time of one vector core for its share of a block, and of its pipes."""
    x, c = costs.transfers["x_gm_ub"], costs.transfers["c_ub_gm"]
    stages = np.maximum(costs.vector_stages, 1)
    read_us, write_us = x.total_us / stages, c.total_us / stages
    vec_us = costs.vector_count * costs.vector_us / stages
    b = np.maximum(rows["ub_buffers"], 1)
    pairs = np.maximum(read_us + x.hidden_us + vec_us, vec_us + write_us) / b
    period = np.maximum(np.maximum(read_us, vec_us), np.maximum(write_us, pairs))
    total = (stages - 1) * period + read_us + x.hidden_us + vec_us + write_us
    pipes = {"vec": vec_us * stages, "mte2": read_us * stages, "mte3": write_us * stages}
    return total, pipes


def _result(
    rows: Rows,
    chip: AscendChip,
    costs: Costs,
    phases: Phases,
    latency_us: FloatColumn,
) -> SimResult:
    latency_us = np.nan_to_num(latency_us, nan=np.inf, posinf=np.inf)
    checks = (*limits(rows, chip), run_time(latency_us, chip.bench))
    failure, failed = first_exceeded(checks, len(rows))
    rounds = costs.where.rounds
    times = [rounds * phases.pipes[p] for p in PIPES]
    times += [costs.hbm_us, chip.launch_us + rounds * chip.core_start_us]
    bottleneck = longest(times, len(rows))
    bottleneck[failure > 0] = BOTTLENECKS.index("capacity")
    return SimResult(
        latency_us=np.where(failure > 0, np.inf, latency_us),
        failure=failure,
        failed_limit=failed,
        limits=checks,
        bottleneck=bottleneck,
        bottleneck_names=BOTTLENECKS,
        counters=_counters(rows, chip, costs, phases, latency_us),
    )


def _counters(
    rows: Rows,
    chip: AscendChip,
    costs: Costs,
    phases: Phases,
    latency_us: FloatColumn,
) -> dict[str, FloatColumn]:
    where = costs.where
    per_core = where.rounds * where.core_utilisation * where.cores
    per_core = per_core / np.maximum(np.minimum(where.blocks, where.cores), 1)
    issued_us = (costs.mmad_us - chip.mmad_issue_cycles / chip.clock_mhz) * costs.mmad_count
    useful = rows["macs_useful"]
    executed = np.maximum(rows["macs"], useful)
    peak_us = np.where(executed > 0, useful / np.maximum(executed, 1), 0.0) * issued_us
    chip_us = peak_us * where.blocks * where.work_share / chip.cube_cores
    return {
        **{f"{p}_us": phases.pipes[p] * per_core for p in PIPES},
        "core_us": where.rounds * (costs.start_us + phases.block_us),
        "hbm_bytes": costs.traffic.hbm_bytes,
        "l2_bytes": costs.traffic.l2_bytes,
        "l2_hit_rate": costs.traffic.l2_hit_rate,
        "padding_waste": np.where(executed > 0, 1 - useful / np.maximum(executed, 1), 0.0),
        "core_utilisation": where.core_utilisation,
        "cube_utilisation": np.where(latency_us > 0, chip_us / np.maximum(latency_us, 1e-9), 0.0),
    }
