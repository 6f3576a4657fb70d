"""What a CPU's core does with a multiply-accumulate kernel: its ports, its registers, its caches.

The tile of level 0, the loops over the output inside the innermost reduction, decides.  LLVM keeps
its accumulators in registers where they fit beside the operands, and they are loaded and stored
once for each tile of level 1; otherwise every step of the reduction loads and stores them all, and
waits for the store before.  Cycles count as in the chip's file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from hwsim.columns import CPU_LEVELS
from hwsim.cpu.chip import CpuChip
from hwsim.table import KernelTable
from pruner.machine import CYCLES_PER_US, blocks_of
from pruner.once import once_a_table
from pruner.traffic import traffic_of

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class RegisterTile:
    """Columns ``(n,)`` of one pass through the tile of level 0, a step of the reduction.

    ``fmas`` vector operations, one for each register of accumulators; ``loads`` and ``stores`` of
    vectors; whether the accumulators are ``held`` in registers between passes.
    """

    fmas: Floats
    loads: Floats
    stores: Floats
    held: Rows


@once_a_table
def register_tile(table: KernelTable, chip: CpuChip) -> RegisterTile:
    """Registers of a tile: one row operand is broadcast at a time, the vectors of the column
    operand stay where a second row uses them again, and one register has to be free for what is
    loaded ahead.  LLVM keeps no scalars: it has been seen to store the accumulators of loops that
    are not vectorised.
    """
    lanes = np.maximum(table["vector_lanes"], 1)
    elements = np.maximum(table["acc_bytes"] * 8.0 / table["acc_bits"], 1)
    wide = np.ceil(lanes * table["acc_bits"] / 8.0 / chip.vector_bytes)  # registers of a statement
    fmas = np.ceil(elements / lanes) * wide
    columns = np.ceil(table["tile_n"] / lanes) * wide
    rows = np.minimum(table["tile_m"], fmas)
    registers = fmas + np.where(fmas > columns, columns, 0) + 1
    held = (registers < chip.vector_registers) & (lanes > 1)
    strided = np.where(table["vector_stride"] > 1, elements, 0.0)  # lane by lane
    return RegisterTile(
        fmas=fmas,
        loads=rows + np.where(held, columns, 2 * fmas) + strided,
        stores=np.where(held, 0.0, fmas) + strided,
        held=held,
    )


def core_us(table: KernelTable, chip: CpuChip) -> Floats:
    """``(n,)`` microseconds of the busiest core: its slowest port, or the sums that wait for each
    other, as far as the core does not look ahead into the next tile.
    """
    tile = register_tile(table, chip)
    passes, tiles = table["level0_runs"], table["level1_runs"]
    ends = np.where(tile.held, tiles * tile.fmas, 0.0)
    depth = passes / np.maximum(tiles, 1)
    ahead = chip.reorder_ops / np.maximum(depth * (tile.fmas + tile.loads + tile.stores), 1)
    latency = chip.fma_latency + np.where(tile.held, 0.0, chip.forward_cycles)
    cycles = [
        passes * tile.fmas / chip.fma_per_cycle,
        (passes * tile.loads + ends) / chip.loads_per_cycle,
        (passes * tile.stores + ends) / chip.stores_per_cycle,
        passes * latency / np.maximum(ahead, 1),
    ]
    return np.asarray(reduce(np.maximum, cycles) * _busiest(table, chip) / CYCLES_PER_US)


def fetch_us(table: KernelTable, chip: CpuChip) -> Floats:
    """``(n,)`` microseconds of the slowest cache or memory: each is fetched from for the tiles that
    the one before it holds.
    """
    core = _busiest(table, chip)
    cycles = [
        core * _fetched(table, chip, chip.l1_kib) / chip.l2_bytes_per_cycle,
        _fetched(table, chip, chip.l2_kib) / chip.cache_bytes_per_cycle,
        _fetched(table, chip, chip.l3_kib) / chip.memory_bytes_per_cycle,
    ]
    return np.asarray(reduce(np.maximum, cycles) / CYCLES_PER_US)


def _busiest(table: KernelTable, chip: CpuChip) -> Floats:
    """``(n,)`` share of the kernel that the busiest core has."""
    blocks = blocks_of(table)
    return np.asarray(np.ceil(blocks / chip.cores) / blocks)


def _fetched(table: KernelTable, chip: CpuChip, kib: float) -> Floats:
    """``(n,)`` bytes that come from beyond a cache: the largest tile that fits it, anew each time;
    everything once where it fits as a whole.
    """
    held = np.where(register_tile(table, chip).held, table["acc_bytes"], 0.0)
    fetched = (table["level0_bytes"] - held) * table["level0_runs"]
    for level in range(1, CPU_LEVELS):
        size = table[f"level{level}_bytes"]
        again = np.minimum(fetched, size * table[f"level{level}_runs"])
        fetched = np.where(size <= kib * 1024.0, again, fetched)
    whole = traffic_of(table).unique_bytes
    return np.asarray(np.where(whole <= kib * 1024.0, whole, fetched))
