"""Time of an NPU's vector work, instruction by instruction: short ones are paid for by their start.

A pass is one statement over a staged tile, in instructions of one contiguous run each.  What a
kernel without passes computes beside the matrix unit is left to the scalar unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.ascend_cube.chip import AscendChip
from hwsim.chip import Chip
from hwsim.mlu_sram.chip import MluChip
from hwsim.table import KernelTable
from pruner.machine import Machine, blocks_of
from pruner.once import once_a_chip

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class VectorUnit:
    """Cycles of one core; ``start`` and ``least`` are an instruction's, ``special`` what a byte of
    an exp, log or divide takes beyond that of an add, ``scalar`` an operation of the scalar unit.
    """

    clock_mhz: float
    bytes_per_cycle: float
    start: float
    least: float
    pass_start: float
    special: float
    scalar: float
    rearrange: float  # of a byte that is transposed, beside its pass


@once_a_chip
def vector_unit_of(chip: Chip) -> VectorUnit:
    """The unit of an NPU; ``TypeError`` for another chip.

    On Ascend the scalar unit issues every instruction, which takes longer than a short one; on the
    MLU it loads two operands and stores the result.
    """
    if isinstance(chip, AscendChip):
        return VectorUnit(
            clock_mhz=chip.clock_mhz,
            bytes_per_cycle=chip.vector_bytes_per_cycle,
            start=0.0,
            least=max(chip.vector_issue_cycles, chip.scalar_issue_cycles),
            pass_start=chip.vector_startup_cycles,
            special=1 / (2 * chip.special_elements_per_cycle),
            scalar=chip.scalar_issue_cycles,
            rearrange=0.0,
        )
    if isinstance(chip, MluChip):
        return VectorUnit(
            clock_mhz=chip.clock_mhz,
            bytes_per_cycle=chip.vector_bytes_per_cycle,
            start=chip.vector_start_cycles,
            least=0.0,
            pass_start=0.0,
            special=(chip.special_slowdown - 1) / chip.vector_bytes_per_cycle,
            scalar=chip.scalar_op_cycles + 3 * chip.scalar_access_cycles,
            rearrange=chip.rearrange_slowdown / chip.vector_bytes_per_cycle,
        )
    raise TypeError(f"chip {chip.name!r}: backend {chip.backend!r} has no vector unit")


def passes_us(table: KernelTable, chip: Chip, machine: Machine) -> Floats:
    """``(n,)`` the vector work of one block, shared by the vector cores of its matrix core, or its
    operations one by one where it has no passes.
    """
    unit, cube = vector_unit_of(chip), machine.on_matrix_unit(table)
    element_bytes = np.maximum(table["out_bits"], 16) / 8
    blocks, special = blocks_of(table), table["special_ops"]
    ops = table["alu_ops"] + special + np.where(cube, 0.0, table["macs"])
    cycles = np.maximum(_issued(table, unit), ops * element_bytes / unit.bytes_per_cycle / blocks)
    cycles = cycles + special * element_bytes * unit.special / blocks
    cycles = cycles / machine.vector_sharers(table)
    cycles = cycles + _rearranged(table, unit)
    alone = (table["vec_count"] == 0) & ~cube
    return np.asarray(np.where(alone, ops * unit.scalar / blocks, cycles) / unit.clock_mhz)


def _issued(table: KernelTable, unit: VectorUnit) -> Floats:
    """``(n,)`` cycles of a block's passes, all their instructions back to back."""
    size, run = table["vec_bytes"], table["vec_run_bytes"]
    run = np.maximum(np.where(run > 0, np.minimum(run, size), size), 1.0)
    one = np.maximum(unit.start + np.ceil(run / unit.bytes_per_cycle), unit.least)
    return np.asarray(table["vec_count"] * (np.ceil(size / run) * one + unit.pass_start))


def _rearranged(table: KernelTable, unit: VectorUnit) -> Floats:
    """``(n,)`` cycles of a block's transposes, where the kernel table counts them."""
    if "rearrange_count" not in table.columns:
        return np.zeros(table.n)
    one = unit.start + table["rearrange_bytes"] * unit.rearrange
    return np.asarray(table["rearrange_count"] * one)
