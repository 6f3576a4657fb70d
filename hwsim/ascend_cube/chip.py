"""What an Ascend chip file says: cube and vector cores, their buffers, movers, L2 and HBM.

Cycles are cycles of ``clock_mhz``.  GB/s is 1e9 bytes a second, KiB and MiB are powers of two.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from hwsim.chip import Chip, Dtype
from hwsim.units import (
    Bytes,
    Cores,
    Cycles,
    GbPerS,
    Kib,
    Mhz,
    Mib,
    Microseconds,
    Nanoseconds,
    PerCycle,
)

WholeGib = Annotated[int, msgspec.Meta(ge=1, le=1 << 12)]
BlockEdge = Annotated[int, msgspec.Meta(ge=1, le=1 << 12)]  # elements


class Mover(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One path of a core.

    A transfer of ``b`` bytes occupies the mover for
    ``max(min_cycles, startup_cycles + b / bytes_per_cycle)``; its data can be used
    ``latency_cycles`` later.  With a second buffer the next transfer starts meanwhile, without one
    the latency is waited for.  Each contiguous run of a transfer costs the memory that all cores
    share ``run_ns`` (0 for on-chip paths).  Runs that do not start at a 32 B block move at
    ``unaligned_bytes_per_cycle``.
    """

    bytes_per_cycle: PerCycle
    unaligned_bytes_per_cycle: PerCycle
    startup_cycles: Cycles
    latency_cycles: Cycles
    min_cycles: Cycles
    run_ns: Nanoseconds


class AscendChip(Chip, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An Ascend 910B-like chip: AI cores of one cube core and some vector cores each."""

    cube_cores: Cores
    vector_cores: Cores
    clock_mhz: Mhz

    l1_kib: Kib
    l0a_kib: Kib
    l0b_kib: Kib
    l0c_kib: Kib
    ub_kib: Kib  # of one vector core
    l2_mib: Mib
    hbm_gib: WholeGib

    cube_m: BlockEdge  # rows, columns and reduction of the block that the cube makes in one cycle
    cube_n: BlockEdge
    cube_k: dict[Dtype, BlockEdge]
    mmad_issue_cycles: Cycles  # on top of the blocks of an MMAD right behind another
    mmad_startup_cycles: Cycles  # on top of the blocks of an MMAD that found the cube idle

    gm_l1: Mover
    gm_ub: Mover
    ub_gm: Mover
    l0c_gm: Mover
    l1_l0a: Mover
    l1_l0b: Mover

    hbm_gb_per_s: GbPerS  # reached by streaming reads and writes of all cores
    l2_gb_per_s: GbPerS  # reached by all cores together when everything hits
    hbm_latency_cycles: Cycles  # of a read that misses L2, beyond the mover's own latency
    l2_line_bytes: Bytes
    same_address_ns: Nanoseconds  # one more core reading the same line at the same time

    vector_bytes_per_cycle: PerCycle  # simple operations, bytes of the widest operand
    special_elements_per_cycle: PerCycle  # exp, log, sqrt, divide
    vector_block_bytes: Bytes
    vector_issue_cycles: Cycles  # least time between two vector instructions
    vector_startup_cycles: Cycles  # before a pass that needs the results of the pass before it

    scalar_issue_cycles: Cycles  # scalar unit, for each instruction it hands to a queue
    core_start_us: Microseconds  # from the start of a core to its first transfer
    launch_us: Microseconds  # from the launch to the end of the task, beyond a core's own time


CHIP = AscendChip
