"""The fields of a Cambricon MLU370 chip file.

A chip is ``clusters`` clusters of ``cores_per_cluster`` cores.  A core computes on operands in its
NRAM (activations, results) and WRAM (weights); the cores of a cluster share an SRAM; everything
else lies in the chip's GDRAM, here also called DDR.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from hwsim.chip import Chip
from hwsim.units import (
    Bytes,
    Cores,
    Count,
    Cycles,
    Efficiency,
    GbPerS,
    Gib,
    Kib,
    Mhz,
    Microseconds,
    Nanoseconds,
    PerCycle,
    ReservedKib,
    SomeCycles,
    Times,
    WholePerCycle,
)

SpillPolicy = Literal["ddr", "error"]


class MacRates(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """MACs a cycle of one matrix unit by the type of its inputs."""

    int8: WholePerCycle
    float16: WholePerCycle
    float32: WholePerCycle


class MluChip(Chip, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One MLU370 device, as a kernel sees it.  GB/s is 1e9 bytes a second, KiB 1024 bytes."""

    backend: Literal["mlu_sram"]
    clock_mhz: Mhz
    clusters: Cores
    cores_per_cluster: Cores

    nram_kib: Kib  # a core
    nram_reserved_kib: ReservedKib  # kept by the compiler
    wram_kib: Kib  # a core
    sram_kib: Kib  # a cluster
    sram_reserved_kib: ReservedKib  # kept by the compiler
    spill: SpillPolicy  # SRAM beyond its capacity: silently in DDR, or a compile error

    ddr_gib: Gib
    ddr_gbps: GbPerS  # the chip
    cluster_ddr_gbps: GbPerS  # one cluster alone
    core_ddr_gbps: GbPerS  # one core alone
    ddr_read_efficiency: Efficiency  # share of the peak that long contiguous reads reach
    ddr_write_efficiency: Efficiency  # the same for writes
    ddr_line_bytes: Bytes  # smallest access; a shorter write reads the line first
    ddr_latency_ns: Nanoseconds  # of one transfer
    read_run_cycles: SomeCycles  # a core issues one contiguous run of a read in this time
    write_run_cycles: SomeCycles  # the same for a write

    mv_bytes_per_cycle: PerCycle  # SRAM <-> NRAM or WRAM, one core
    sram_bytes_per_cycle: PerCycle  # SRAM ports of a cluster, all its cores together
    mv_latency_cycles: Cycles  # of one move

    macs_per_cycle: MacRates  # matrix unit of one core
    matmul_multiple: Count  # columns and reduction are padded to this many elements
    matmul_start_cycles: Cycles
    vector_bytes_per_cycle: WholePerCycle  # one core
    vector_start_cycles: Cycles
    special_slowdown: Times  # exp, log, divide against an add
    rearrange_slowdown: Times  # transpose, reshape against an add
    scalar_op_cycles: SomeCycles  # one scalar operation
    scalar_access_cycles: SomeCycles  # one scalar load or store in NRAM
    step_cycles: Cycles  # loop control and synchronisation of one staged step

    launch_us: Microseconds  # a warm launch

    def __post_init__(self) -> None:
        """Refuse reserves that leave nothing (msgspec turns the error into its own)."""
        for scope in ("nram", "sram"):
            size, kept = getattr(self, f"{scope}_kib"), getattr(self, f"{scope}_reserved_kib")
            if kept >= size:
                raise ValueError(
                    f"{scope}_reserved_kib is {kept}, expected below {scope}_kib {size}"
                )

    @property
    def nram_bytes(self) -> int:
        """NRAM of a core that a kernel can use."""
        return (self.nram_kib - self.nram_reserved_kib) * 1024

    @property
    def wram_bytes(self) -> int:
        """WRAM of a core."""
        return self.wram_kib * 1024

    @property
    def sram_bytes(self) -> int:
        """SRAM of a cluster that a kernel can use."""
        return (self.sram_kib - self.sram_reserved_kib) * 1024

    @property
    def cores(self) -> int:
        """Cores of the chip."""
        return self.clusters * self.cores_per_cluster

    def peak_macs_per_us(self, dtype: Literal["int8", "float16", "float32"]) -> float:
        """MACs that the matrix units of the whole chip do in a microsecond."""
        rate: int = getattr(self.macs_per_cycle, dtype)
        return rate * self.cores * self.clock_mhz


CHIP = MluChip
