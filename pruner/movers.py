"""Least time of the engines that carry data: every byte of a stream passes its engine once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.ascend_cube.chip import AscendChip
from hwsim.chip import Chip
from hwsim.mlu_sram.chip import MluChip
from hwsim.table import KernelTable
from pruner.machine import Machine
from pruner.once import once_a_chip
from pruner.traffic import streams_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Way:
    """One stream's way through its engine.

    A transfer takes ``start_us`` beside its bytes, and at least ``least_us``; a contiguous run of
    it at least ``run_us``.
    """

    bytes_per_us: float
    start_us: float = 0.0
    least_us: float = 0.0
    run_us: float = 0.0


Engine = Mapping[str, Way]  # stream -> way; the streams of an engine come one after the other


@once_a_chip
def engines_of(chip: Chip) -> tuple[Engine, ...]:
    """The engines of one core.  A GPU has none here: what its L1 holds, no engine carries."""
    if isinstance(chip, AscendChip):
        return tuple({s: _ascend(chip, s) for s in pipe} for pipe in _ASCEND_PIPES)
    if isinstance(chip, MluChip):
        move = Way(chip.mv_bytes_per_cycle * chip.clock_mhz)
        read, write = chip.read_run_cycles / chip.clock_mhz, chip.write_run_cycles / chip.clock_mhz
        core, cluster = chip.core_ddr_gbps * 1e3, chip.cluster_ddr_gbps * 1e3
        return (
            {"a_sram_nram": move, "b_sram_wram": move},
            {
                **dict.fromkeys(_MLU_READS, Way(core, run_us=read)),
                **dict.fromkeys(_MLU_SHARED_READS, Way(cluster, run_us=read)),
                "c_nram_gdram": Way(core, run_us=write),
            },
        )
    return ()


_ASCEND_MOVERS = {
    "a_gm_l1": "gm_l1", "b_gm_l1": "gm_l1", "a_l1_l0a": "l1_l0a", "b_l1_l0b": "l1_l0b",
    "c_l0c_gm": "l0c_gm", "x_gm_ub": "gm_ub", "c_ub_gm": "ub_gm",
}  # fmt: skip
_ASCEND_PIPES = (  # MTE2 and MTE1 of the cube core, its fixpipe; MTE2 and MTE3 of the vector cores
    ("a_gm_l1", "b_gm_l1"), ("a_l1_l0a", "b_l1_l0b"), ("c_l0c_gm",), ("x_gm_ub",), ("c_ub_gm",),
)  # fmt: skip
_VECTOR_STREAMS = ("x_gm_ub", "c_ub_gm")  # of a cube kernel: by all vector cores of its cube core
_MLU_READS = ("a_gdram_nram", "b_gdram_wram", "x_gdram_nram")
_MLU_SHARED_READS = ("a_gdram_sram", "b_gdram_sram")  # by the memory core of a cluster


def _ascend(chip: AscendChip, stream: str) -> Way:
    mover = getattr(chip, _ASCEND_MOVERS[stream])
    us = 1 / chip.clock_mhz
    rate = mover.bytes_per_cycle * chip.clock_mhz
    return Way(rate, mover.startup_cycles * us, mover.min_cycles * us)


def movers_us(table: KernelTable, chip: Chip, machine: Machine) -> Floats:
    """``(n,)`` the slowest engine of the busiest core, all its transfers back to back."""
    return _slowest_us(table, machine, engines_of(chip))


def carriers_us(table: KernelTable, chip: Chip, machine: Machine) -> tuple[Floats, Floats]:
    """The same of the engines that reach off chip, and of those that stay within a core's or a
    cluster's memories.
    """
    inside = streams_of(table.backend)[2]
    within = [engine for engine in engines_of(chip) if set(engine) <= set(inside)]
    across = [engine for engine in engines_of(chip) if engine not in within]
    return _slowest_us(table, machine, across), _slowest_us(table, machine, within)


def _slowest_us(table: KernelTable, machine: Machine, engines: Iterable[Engine]) -> Floats:
    slowest = np.zeros(table.n)
    for engine in engines:
        used = [s for s in engine if f"{s}_bytes" in table.columns]
        busy = sum((_busy_us(table, s, engine[s], machine) for s in used), np.zeros(table.n))
        slowest = np.maximum(slowest, busy)
    return np.asarray(machine.rounds(table) * slowest)


def _busy_us(table: KernelTable, stream: str, way: Way, machine: Machine) -> Floats:
    size, count = table[f"{stream}_bytes"], table[f"{stream}_count"]
    each = np.maximum(way.start_us + size / way.bytes_per_us, way.least_us)
    if way.run_us:
        run = table[f"{stream}_run_bytes"]
        runs = np.ceil(size / np.where(run > 0, np.minimum(run, size), size).clip(min=1))
        each = np.maximum(each, runs * way.run_us)
    busy = np.where(size > 0, count * each, 0.0)
    if stream in _VECTOR_STREAMS:
        busy = busy / machine.vector_sharers(table)
    return np.asarray(busy)
