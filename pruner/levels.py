"""How full the levels of a core's memory are, in words that hold on every backend."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from hwsim.ascend_cube.chip import AscendChip
from hwsim.chip import Chip
from hwsim.cpu.chip import CpuChip
from hwsim.gpu_sm.chip import MAX_REGISTERS_THREAD, GpuChip
from hwsim.gpu_sm.occupancy import occupancy_of
from hwsim.mlu_sram.chip import MluChip
from hwsim.rows import Rows
from hwsim.table import KernelTable
from pruner.conflicts import sector_share
from pruner.scopes import Scope, capacity, footprint, scopes_of
from pruner.traffic import Traffic

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Levels:
    """Columns ``(n,)``; the names are those of :data:`pruner.features.FEATURES`."""

    staging_share: Floats
    operand_share: Floats
    accumulator_share: Floats
    fullest_share: Floats
    spill_share: Floats
    stage_depth: Floats
    inner_depth: Floats
    occupancy: Floats
    resident_threads: Floats
    line_use: Floats


def levels_of(table: KernelTable, chip: Chip, traffic: Traffic) -> Levels:
    """The levels of every row; ``TypeError`` for a backend that has none."""
    if isinstance(chip, AscendChip):
        return _ascend(table, chip, traffic)
    if isinstance(chip, MluChip):
        return _mlu(table, chip, traffic)
    if isinstance(chip, GpuChip):
        return _gpu(table, chip)
    if isinstance(chip, CpuChip):
        return _cpu(table, chip, traffic)
    raise TypeError(f"chip {chip.name!r}: backend {chip.backend!r} has no memory levels")


def shares(table: KernelTable, chip: Chip) -> dict[Scope, Floats]:
    """Scope -> ``(n,)`` bytes kept there over its size."""
    return {s: footprint(table, s) / capacity(chip, s)[0] for s in scopes_of(table.backend)}


def _ascend(table: KernelTable, chip: AscendChip, traffic: Traffic) -> Levels:
    of = shares(table, chip)
    fullest = reduce(np.maximum, of.values())
    one = np.ones(table.n)
    return Levels(
        staging_share=np.maximum(of["l1"], of["ub"]),
        operand_share=np.maximum(of["l0a"], of["l0b"]),
        accumulator_share=of["l0c"],
        fullest_share=fullest,
        spill_share=np.maximum(fullest - 1, 0),
        stage_depth=_copies(table, np.maximum, "l1", "ub"),
        inner_depth=_copies(table, np.minimum, "l0a", "l0b"),
        occupancy=one,
        resident_threads=one,
        line_use=_line_use(traffic, chip.l2_line_bytes),
    )


def _mlu(table: KernelTable, chip: MluChip, traffic: Traffic) -> Levels:
    of = shares(table, chip)
    fullest = reduce(np.maximum, of.values())
    one, nram = np.ones(table.n), _copies(table, np.minimum, "nram")
    wram = np.where(of["wram"] > 0, _copies(table, np.minimum, "wram"), nram)  # vectors have none
    return Levels(
        staging_share=of["sram"],
        operand_share=of["wram"],
        accumulator_share=of["nram"],
        fullest_share=fullest,
        spill_share=np.maximum(fullest - 1, 0),
        stage_depth=_copies(table, np.maximum, "sram"),
        inner_depth=np.minimum(nram, wram),
        occupancy=one,
        resident_threads=one,
        line_use=_line_use(traffic, chip.ddr_line_bytes),
    )


def _gpu(table: KernelTable, chip: GpuChip) -> Levels:
    shared = shares(table, chip)["shared"]
    occupancy = occupancy_of(Rows(table), chip)
    limit = float(MAX_REGISTERS_THREAD)
    operands, results = table["operand_regs"] / limit, table["acc_regs"] / limit
    spilled = occupancy.spill_registers / limit
    return Levels(
        staging_share=shared,
        operand_share=operands,
        accumulator_share=results,
        fullest_share=np.maximum(shared, operands + results),
        spill_share=np.maximum(spilled, shared - 1),
        stage_depth=table["pipeline_stages"].astype(np.float64),
        inner_depth=np.ones(table.n),
        occupancy=occupancy.share,
        resident_threads=occupancy.blocks_sm * table["threads"],
        line_use=sector_share(table) if table.n else np.ones(0),
    )


def _cpu(table: KernelTable, chip: CpuChip, traffic: Traffic) -> Levels:
    """A tile of the first level belongs into L1, one of the second into L2; the occupied contexts
    of a core are the lanes of its vector registers.
    """
    one = np.ones(table.n)
    first = table["level1_bytes"] / (chip.l1_kib * 1024.0)
    second = table["level2_bytes"] / (chip.l2_kib * 1024.0)
    registers = table["acc_bytes"] / (chip.vector_registers * chip.vector_bytes)
    fullest = np.maximum(np.maximum(first, second), registers)
    return Levels(
        staging_share=second,
        operand_share=first,
        accumulator_share=registers,
        fullest_share=fullest,
        spill_share=np.maximum(fullest - 1, 0),
        stage_depth=one,
        inner_depth=one,
        occupancy=lane_share(table, chip),
        resident_threads=one,
        line_use=_line_use(traffic, chip.line_bytes),
    )


def lane_share(table: KernelTable, chip: CpuChip) -> Floats:
    """``(n,)`` lanes that work over lanes of the registers that a vectorised loop fills."""
    used = table["vector_lanes"] * table["acc_bits"] / 8
    return np.asarray(used / (np.ceil(used / chip.vector_bytes) * chip.vector_bytes))


def _copies(table: KernelTable, best: np.ufunc, *scopes: str) -> Floats:
    return np.asarray(reduce(best, [table[f"{s}_buffers"] for s in scopes]), dtype=np.float64)


def _line_use(traffic: Traffic, line: int) -> Floats:
    run = traffic.run_bytes
    return np.where(run > 0, run / (np.ceil(np.maximum(run, 1) / line) * line), 1.0)
