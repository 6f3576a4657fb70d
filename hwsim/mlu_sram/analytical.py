"""Analytical model of the MLU370, vectorised over the kernel table.

A block's pieces pass through three engines: IO (GDRAM to SRAM, NRAM or WRAM and back), MV (SRAM to
NRAM or WRAM) and the core's instruction stream.  Single-buffered stages add up; double-buffered
ones take the longest engine plus one piece of the others to fill and drain.  The bus is shared: a
transfer takes the longest of what its engine, its cluster's limit and the chip's bus need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hwsim.farm import run_time
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.costs import BlockCosts, block_costs, mac_rate, sram_need_bytes
from hwsim.mlu_sram.flows import Flow
from hwsim.mlu_sram.limits import limits, nram_need_bytes
from hwsim.mlu_sram.placement import Placement, place
from hwsim.result import FloatColumn, SimResult, first_exceeded, longest
from hwsim.rows import Rows, by_blocks
from hwsim.table import KernelTable

BOTTLENECKS = (
    "ddr", "cluster_ddr", "io_issue", "sram_spill", "mv", "matmul", "vector", "scalar", "launch",
)  # fmt: skip


def simulate(table: KernelTable, chip: MluChip) -> SimResult:
    """Latency, failure, bottleneck and counters of every row of an ``mlu_sram`` table.

    Counters (all ``(n,)``): ``*_us`` are
    the busiest core's time in each engine over the whole kernel; ``ddr_bus_us`` the time of the
    chip's bus; ``ddr_*_bytes`` are bytes on the bus, ``sram_spill_bytes`` the SRAM allocation of a
    cluster that lies in DDR; ``utilisation`` is useful MACs over the chip's peak,
    ``ddr_utilisation`` bus bytes over its peak, ``core_share`` busy cores over all, each over the
    latency or the rounds; ``padding_waste`` the share of executed MACs that is padding.
    """
    if table.backend != "mlu_sram":
        raise ValueError(f"backend {table.backend!r}: the MLU model takes 'mlu_sram' tables")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return by_blocks(table, lambda rows: _simulate(rows, chip))


def _simulate(rows: Rows, chip: MluChip) -> SimResult:
    costs, placement = block_costs(rows, chip), place(rows, chip)
    times = _stage_times(costs, placement, chip)
    work_us = placement.rounds * _block_us(costs, times)
    latency = chip.launch_us + work_us
    all_limits = (*limits(rows, chip), run_time(latency, chip.bench))
    failure, failed = first_exceeded(all_limits, len(rows))
    parts = _parts(costs, placement, times, chip)
    counters = _counters(rows, chip, costs, placement, times, latency) | parts
    return SimResult(
        latency_us=np.where(failure == 0, latency, np.inf),
        failure=failure,
        failed_limit=failed,
        limits=all_limits,
        bottleneck=longest([parts[f"{b}_us"] for b in BOTTLENECKS], len(rows)),
        bottleneck_names=BOTTLENECKS,
        counters={name: _finite(column) for name, column in counters.items()},
    )


@dataclass(frozen=True)
class _Times:
    """IO times of one block while the whole machine runs, ``(n,)`` each, in microseconds."""

    far: FloatColumn
    near_a: FloatColumn
    near_b: FloatColumn
    store: FloatColumn

    @property
    def io(self) -> FloatColumn:
        return self.far + self.near_a + self.near_b + self.store


def _stage_times(costs: BlockCosts, placement: Placement, chip: MluChip) -> _Times:
    share = np.maximum(placement.chip_share(), placement.cluster_share(chip))
    flows = (costs.far, costs.near_a, costs.near_b, costs.store)
    return _Times(*(flow.us(share) for flow in flows))


def _block_us(costs: BlockCosts, times: _Times) -> FloatColumn:
    """One block from its first load to its last store."""
    near = _near_us(costs, times)
    far_piece = times.far / costs.far_steps
    others = (costs.mv_a_us + costs.mv_b_us + costs.compute_us) / costs.far_steps
    serial = times.far + near
    pipelined = np.minimum(np.maximum(near + far_piece, times.io + others), serial)
    return np.where(costs.far_overlap, pipelined, serial)


def _near_us(costs: BlockCosts, times: _Times) -> FloatColumn:
    """Everything inside the SRAM stage: fill NRAM and WRAM, compute, store."""
    a, b, steps = costs.a_overlap, costs.b_overlap, costs.near_steps
    fill_a, fill_b = times.near_a + costs.mv_a_us, times.near_b + costs.mv_b_us
    waited = np.where(a, 0.0, fill_a + times.store) + np.where(b, 0.0, fill_b)
    fetched_ahead = np.where(a, fill_a, 0.0) + np.where(b, fill_b, 0.0)
    stored_behind = np.where(a, times.store, 0.0)
    core = waited + costs.compute_us + fetched_ahead / steps + stored_behind / costs.out_steps
    moves = costs.mv_a_us + costs.mv_b_us
    io = times.near_a + times.near_b + times.store + (moves + costs.compute_us) / steps
    return np.asarray(np.maximum(np.maximum(core, io), moves + costs.compute_us / steps))


def _parts(
    costs: BlockCosts, placement: Placement, times: _Times, chip: MluChip
) -> dict[str, FloatColumn]:
    """Time of the whole kernel by what it is spent on (before overlap), keys ``<name>_us``."""
    by_chip = placement.chip_share() >= placement.cluster_share(chip)
    share = np.maximum(placement.chip_share(), placement.cluster_share(chip))
    bus, issue = _by_limit((costs.far, costs.near_a, costs.near_b, costs.store), share)
    spill = np.minimum(np.where(costs.spilled, costs.spill_us * share, 0.0), bus + issue)
    kept = np.maximum(1.0 - spill / np.maximum(bus + issue, 1e-30), 0.0)
    rounds = placement.rounds
    return {
        "ddr_us": rounds * np.where(by_chip, bus * kept, 0.0),
        "cluster_ddr_us": rounds * np.where(by_chip, 0.0, bus * kept),
        "io_issue_us": rounds * issue * kept,
        "sram_spill_us": rounds * spill,
        "mv_us": rounds * (costs.mv_a_us + costs.mv_b_us),
        "matmul_us": rounds * costs.matmul_us,
        "vector_us": rounds * costs.vector_us,
        "scalar_us": rounds * costs.scalar_us,
        "launch_us": np.array([float(chip.launch_us)]),
    }


def _by_limit(flows: tuple[Flow, ...], share: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
    """Time of flows that the bus limits, and of those that issue and latency limit."""
    bus, issue = np.zeros(1), np.zeros(1)
    for flow in flows:
        limited = flow.bus_us * share >= flow.issue_us
        bus = bus + np.where(limited, flow.bus_us * share, 0.0)
        issue = issue + flow.latency_us + np.where(limited, 0.0, flow.issue_us)
    return bus, issue


def _counters(
    rows: Rows,
    chip: MluChip,
    costs: BlockCosts,
    placement: Placement,
    times: _Times,
    latency: FloatColumn,
) -> dict[str, FloatColumn]:
    macs, useful = rows["macs"], rows["macs_useful"]
    blocks = placement.chip_blocks
    loads = costs.far.bus_bytes + costs.near_a.bus_bytes + costs.near_b.bus_bytes
    stored = costs.store.bus_bytes
    peak = mac_rate(rows, chip) * chip.cores * chip.clock_mhz
    return {
        "io_us": placement.rounds * times.io,
        "compute_us": placement.rounds * costs.compute_us,
        "ddr_bus_us": blocks
        * sum(f.bus_us for f in (costs.far, costs.near_a, costs.near_b, costs.store)),
        "ddr_bytes": blocks * (loads + stored),
        "ddr_load_bytes": blocks * loads,
        "ddr_store_bytes": blocks * stored,
        "sram_spill_bytes": np.where(costs.spilled, sram_need_bytes(rows), 0.0),
        "sram_need_bytes": sram_need_bytes(rows),
        "nram_need_bytes": nram_need_bytes(rows),
        "rounds": placement.rounds,
        "core_share": np.minimum(
            rows["clusters"] * rows["cores_per_cluster"] / (placement.rounds * chip.cores),
            1.0,
        ),
        "utilisation": useful / (peak * latency),
        "ddr_utilisation": blocks * (loads + stored) / (chip.ddr_gbps * 1e3 * latency),
        "padding_waste": np.where(macs > 0, 1.0 - np.minimum(useful / macs, 1.0), 0.0),
    }


def _finite(values: FloatColumn) -> FloatColumn:
    return np.nan_to_num(values, nan=0.0, posinf=np.finfo(np.float64).max)
