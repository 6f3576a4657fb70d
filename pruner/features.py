"""The 38 features of the gate: the same names and meanings on every backend.

A feature is computed for every row of a kernel table; a candidate of several kernels gets the sum
of its times and counts and the worst of everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.bounds import compute_us, least_us
from pruner.conflicts import conflict_ways
from pruner.levels import levels_of
from pruner.machine import Machine, blocks_of, machine_of
from pruner.once import once_a_table
from pruner.traffic import Traffic, traffic_of

Floats = NDArray[np.float64]
Columns = dict[str, Floats]


@dataclass(frozen=True)
class Feature:
    """One feature; ``how`` reduces the kernels of a candidate (add, maximum, minimum)."""

    name: str
    unit: str
    how: np.ufunc
    doc: str


_add, _max, _min = np.add, np.maximum, np.minimum

FEATURES: tuple[Feature, ...] = (
    Feature("compute_us", "us", _add, "MACs at the unit's peak, cores in whole waves"),
    Feature("ideal_us", "us", _add, "MACs at the unit's peak, cores filled evenly"),
    Feature("vector_us", "us", _add, "element operations at the vector peak (exp etc. count 8)"),
    Feature("padding_waste", "share", _max, "executed MACs that are padding"),
    Feature("matrix_unit", "bool", _max, "the MACs run on the matrix unit"),
    Feature("read_us", "us", _add, "bytes read off chip at the memory's bandwidth"),
    Feature("write_us", "us", _add, "bytes written off chip at the memory's bandwidth"),
    Feature("unique_us", "us", _add, "distinct bytes at the memory's bandwidth"),
    Feature("l2_reuse", "times", _max, "how often each distinct byte crosses the chip's edge"),
    Feature("cache_share", "share", _max, "distinct bytes over the size of L2 (SRAM on the MLU)"),
    Feature("onchip_ratio", "times", _max, "on-chip bytes moved for each off-chip byte"),
    Feature("intensity", "MACs/B", _min, "useful MACs for each byte that crosses the chip's edge"),
    Feature("balance", "ratio", _max, "compute_us over (read_us + write_us)"),
    Feature(
        "least_us", "us", _add, "lower bound: starts, then compute, memory and movers, overlapped"
    ),
    Feature("run_bytes", "B", _min, "contiguous off-chip run that a byte travels in, mean"),
    Feature("transfer_bytes", "B", _min, "off-chip transfer that a byte travels in, mean"),
    Feature("shortest_bytes", "B", _min, "shortest transfer carrying a tenth of the traffic"),
    Feature("transfers_core", "transfers", _add, "off-chip transfers that the busiest core starts"),
    Feature("line_use", "share", _min, "bytes asked for over bytes of the memory lines touched"),
    Feature("blocks", "blocks", _max, "blocks of the kernel"),
    Feature("core_share", "share", _min, "cores that have a block"),
    Feature("wave_fill", "share", _min, "blocks over the slots of their waves"),
    Feature("block_steps", "steps", _add, "staged steps of one block"),
    Feature("occupancy", "share", _min, "resident contexts of a core over its maximum"),
    Feature("resident_threads", "threads", _min, "threads that share a core"),
    Feature("stage_depth", "copies", _max, "buffers of the staging memory: 2 overlaps the loads"),
    Feature("inner_depth", "copies", _max, "buffers of the operand memories next to the unit"),
    Feature("staging_share", "share", _max, "staging memory used (L1, SRAM, shared)"),
    Feature("operand_share", "share", _max, "operand memory used (L0A/L0B, WRAM, registers)"),
    Feature("accumulator_share", "share", _max, "result memory used (L0C, NRAM, registers)"),
    Feature("fullest_share", "share", _max, "the fullest memory"),
    Feature("spill_share", "share", _max, "what does not fit, over the size of its memory"),
    Feature("conflict_ways", "ways", _max, "passes of a shared-memory access over the least"),
    Feature("tile_m", "elements", _max, "rows of the output tile on chip"),
    Feature("tile_n", "elements", _max, "columns of the output tile on chip"),
    Feature("tile_k", "elements", _max, "reduction of one staged step"),
    Feature("vector_lanes", "elements", _max, "widest vector access"),
    Feature("unroll", "steps", _max, "explicit unrolling"),
)

FEATURE_NAMES = tuple(feature.name for feature in FEATURES)
_LEAST_US = FEATURE_NAMES.index("least_us")


def features(table: KernelTable, chip: Chip) -> NDArray[np.float32]:
    """``(n_candidates, 38)`` float32, columns in the order of :data:`FEATURES`."""
    if not table.n:
        return np.zeros((0, len(FEATURES)), np.float32)
    rows = row_features(table, chip)
    if table.n_candidates == table.n:
        columns = [rows[feature.name] for feature in FEATURES]
    else:
        columns = [table.per_candidate(rows[f.name], f.how) for f in FEATURES]
    return np.stack(columns, axis=1).astype(np.float32)


@once_a_table
def row_features(table: KernelTable, chip: Chip) -> Columns:
    """Feature name -> ``(n,)`` over the rows of the table."""
    machine, traffic = machine_of(chip), traffic_of(table)
    levels = levels_of(table, chip, traffic)
    out = {
        **_compute(table, chip, machine),
        **_memory(table, machine, traffic),
        **_parallel(table, machine),
        **{name: getattr(levels, name) for name in levels.__dataclass_fields__},
    }
    out["least_us"] = least_us(table, chip)
    out["balance"] = out["compute_us"] / np.maximum(out["read_us"] + out["write_us"], 1e-9)
    out["conflict_ways"] = conflict_ways(table) if table.backend == "gpu_sm" else np.ones(table.n)
    for name in ("tile_m", "tile_n", "tile_k", "vector_lanes", "unroll"):
        out[name] = table[name].astype(np.float64)
    return out


def _compute(table: KernelTable, chip: Chip, machine: Machine) -> Columns:
    macs = table["macs"]
    element_bytes = np.maximum(table["out_bits"], 16) / 8
    ops = table["alu_ops"] + 8 * table["special_ops"]
    return {
        "compute_us": compute_us(table, chip),
        "ideal_us": macs / machine.peak(table),
        "vector_us": ops * element_bytes / machine.vector_bytes_per_us,
        "padding_waste": np.where(macs > 0, 1 - table["macs_useful"] / np.maximum(macs, 1), 0.0),
        "matrix_unit": machine.on_matrix_unit(table).astype(np.float64),
    }


def _memory(table: KernelTable, machine: Machine, traffic: Traffic) -> Columns:
    offchip = np.maximum(traffic.offchip_bytes, 1e-9)
    cores_used = np.minimum(blocks_of(table), machine.cores_for(table))
    return {
        "read_us": traffic.read_bytes / machine.offchip_bytes_per_us,
        "write_us": traffic.write_bytes / machine.offchip_bytes_per_us,
        "unique_us": traffic.unique_bytes / machine.offchip_bytes_per_us,
        "l2_reuse": traffic.offchip_bytes / np.maximum(traffic.unique_bytes, 1e-9),
        "cache_share": traffic.unique_bytes / machine.cache_bytes,
        "onchip_ratio": traffic.onchip_bytes / offchip,
        "intensity": table["macs_useful"] / offchip,
        "run_bytes": traffic.run_bytes,
        "transfer_bytes": traffic.transfer_bytes,
        "shortest_bytes": traffic.shortest_bytes,
        "transfers_core": traffic.transfers / cores_used,
    }


def _parallel(table: KernelTable, machine: Machine) -> Columns:
    cores = machine.cores_for(table)
    blocks = blocks_of(table)
    return {
        "blocks": blocks,
        "core_share": np.minimum(blocks / cores, 1.0),
        "wave_fill": blocks / (np.ceil(blocks / cores) * cores),
        "block_steps": (table["out_tiles"] * table["k_steps"]).astype(np.float64),
    }


def log_least_us(x: NDArray[np.float32]) -> NDArray[np.float64]:
    """``(n,)`` logarithm of the least microseconds that the chip's peaks allow, from ``features``.

    What learns latencies learns the distance to it: the trees need not learn what physics says.
    """
    least = x[:, _LEAST_US].astype(np.float64)
    return np.asarray(np.log(np.maximum(least, 1e-3)))
