"""Registers, resources and occupancy: how many blocks of a kernel share an SM, and what refuses.

Follows ``cuda_occupancy.h``: shared memory in units of ``shared_unit_bytes`` after the driver's
reserve, registers in units of 256 a warp, warps dealt to four sub-partitions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.farm import compile_time
from hwsim.gpu_sm.chip import (
    MAX_REGISTERS_THREAD,
    REGISTER_UNIT,
    SUB_PARTITIONS,
    WARP,
    GpuChip,
)
from hwsim.result import Failure, Limit
from hwsim.rows import Rows, where

Floats = NDArray[np.float64]

ADDRESSING_REGISTERS = 24.0  # indices, pointers, loop counters: median beyond the accumulators
STATIC_SHARED_BYTES = 48.0 * 1024  # beyond it shared memory has to be dynamic, on every GPU
_REGISTER_STEP = 8.0  # 256 a warp / 32 threads


@dataclass(frozen=True)
class Occupancy:
    """Columns ``(n,)``; ``spill_registers`` are those of a thread that live in local memory."""

    warps: Floats  # of one block
    registers: Floats  # of one thread, as allocated
    spill_registers: Floats
    blocks_sm: Floats  # resident on one SM (at least 1 for kernels that run)
    blocks_unshared: Floats  # the same, were shared memory unlimited
    share: Floats  # resident warps / the SM's maximum


def limits(rows: Rows, chip: GpuChip, occupancy: Occupancy) -> tuple[Limit, ...]:
    """Capacities that refuse a kernel, in the order in which the tool chain would find out."""
    threads = rows["threads"]

    def limit(name: str, failure: Failure, need: Floats, have: Floats | float, unit: str) -> Limit:
        return Limit(name, failure, need, np.atleast_1d(np.asarray(have, np.float64)), unit)

    shared = rows["shared_bytes"]
    have_shared = where(
        rows["shared_static"] > 0, STATIC_SHARED_BYTES, chip.shared_block_kib * 1024.0
    )
    return (
        limit("shared_memory_block", Failure.compile_error, shared, have_shared, "B"),
        compile_time(rows["unroll"], chip.bench),
        limit(
            "threads_block", Failure.launch_error, threads, float(chip.max_threads_block), "threads"
        ),
        limit(
            "registers_block",
            Failure.launch_error,
            occupancy.registers * WARP * _dealt(np.ceil(threads / WARP)),
            float(chip.registers_sm),
            "registers",
        ),
    )


def registers_of(rows: Rows, chip: GpuChip) -> tuple[Floats, Floats]:
    """``(registers, spilled)`` of one thread.

    The compiler stops at 255, and, where it knows the block size (``launch_bounds``), at what lets
    one block start.
    """
    wanted = rows["acc_regs"] + rows["operand_regs"] + ADDRESSING_REGISTERS
    warps = _dealt(np.maximum(np.ceil(rows["threads"] / WARP), 1))
    share = np.floor(chip.registers_sm / (warps * REGISTER_UNIT)) * _REGISTER_STEP
    bounded = np.minimum(np.maximum(share, _REGISTER_STEP), MAX_REGISTERS_THREAD)
    cap = where(rows["launch_bounds"] > 0, bounded, MAX_REGISTERS_THREAD)
    wanted = where(_hoards(rows, chip), np.maximum(wanted, cap), wanted)
    return np.minimum(wanted, cap), np.maximum(wanted - cap, 0)


def _hoards(rows: Rows, chip: GpuChip) -> NDArray[np.bool_]:
    """Where the compiler loads inputs early and keeps them, until no register is left.

    It does so in straight-line code with many inputs alive, unless that code is so long that it is
    scheduled piece by piece.
    """
    model, code = chip.model, rows["code_macs"] + rows["code_loads"]
    long = (code >= model.hoard_code) & (code < model.hoard_code_most)
    return np.asarray(long & (rows["live_inputs"] >= model.hoard_inputs))


def occupancy_of(rows: Rows, chip: GpuChip) -> Occupancy:
    """Resident blocks and warps for every row (rows that do not run get 1 block)."""
    warps = np.maximum(np.ceil(rows["threads"] / WARP), 1)
    wanted, spilled = registers_of(rows, chip)
    registers = _allocated(wanted)
    by_registers = np.floor(
        np.floor(chip.registers_sm / SUB_PARTITIONS / (registers * WARP)) * SUB_PARTITIONS / warps
    )
    unit = chip.shared_unit_bytes
    shared = np.ceil((rows["shared_bytes"] + chip.shared_reserve_bytes) / unit) * unit
    by_shared = np.floor(chip.shared_sm_kib * 1024 / np.maximum(shared, 1))
    by_warps = np.floor(chip.max_threads_sm / WARP / warps)
    possible = np.maximum(np.minimum(by_registers, by_warps), 1)
    unshared = np.minimum(possible, chip.max_blocks_sm)
    blocks = np.maximum(np.minimum(by_shared, unshared), 1)
    share = blocks * warps * WARP / chip.max_threads_sm
    return Occupancy(warps, registers, spilled, blocks, unshared, np.minimum(share, 1))


def _dealt(warps: Floats) -> Floats:
    """Warps that a block's registers are reserved for: the fullest sub-partition counts."""
    return np.ceil(warps / SUB_PARTITIONS) * SUB_PARTITIONS


def _allocated(registers: Floats) -> Floats:
    return np.maximum(np.ceil(registers / _REGISTER_STEP), 1) * _REGISTER_STEP
