"""The fields of a Cambricon MLU370 chip file.

A chip is ``clusters`` clusters of ``cores_per_cluster`` cores.  A core computes on operands in its
NRAM (activations, results) and WRAM (weights); the cores of a cluster share an SRAM; everything
else lies in the chip's GDRAM, here also called DDR.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hwsim.chip import Chip, NonNegative, Positive, PositiveInt

Efficiency = Annotated[float, msgspec.Meta(gt=0, le=1)]
SpillPolicy = Literal["ddr", "error"]


class MacRates(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """MACs a cycle of one matrix unit by the type of its inputs."""

    int8: PositiveInt
    float16: PositiveInt
    float32: PositiveInt


class MluChip(Chip, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One MLU370 device, as a kernel sees it.  GB/s is 1e9 bytes a second, KiB 1024 bytes."""

    backend: Literal["mlu_sram"]
    clock_mhz: Annotated[float, msgspec.Meta(ge=100, le=5000)]
    clusters: PositiveInt
    cores_per_cluster: PositiveInt

    nram_kib: PositiveInt  # a core
    nram_reserved_kib: Annotated[int, msgspec.Meta(ge=0)]  # kept by the compiler
    wram_kib: PositiveInt  # a core
    sram_kib: PositiveInt  # a cluster
    sram_reserved_kib: Annotated[int, msgspec.Meta(ge=0)]  # kept by the compiler
    spill: SpillPolicy  # SRAM beyond its capacity: silently in DDR, or a compile error

    ddr_gib: Positive
    ddr_gbps: Positive  # the chip
    cluster_ddr_gbps: Positive  # one cluster alone
    core_ddr_gbps: Positive  # one core alone
    ddr_read_efficiency: Efficiency  # share of the peak that long contiguous reads reach
    ddr_write_efficiency: Efficiency  # the same for writes
    ddr_line_bytes: PositiveInt  # smallest access; a shorter write reads the line first
    ddr_latency_ns: NonNegative  # of one transfer
    read_run_cycles: Positive  # a core issues one contiguous run of a read in this time
    write_run_cycles: Positive  # the same for a write

    mv_bytes_per_cycle: Positive  # SRAM <-> NRAM or WRAM, one core
    sram_bytes_per_cycle: Positive  # SRAM ports of a cluster, all its cores together
    mv_latency_cycles: NonNegative  # of one move

    macs_per_cycle: MacRates  # matrix unit of one core
    matmul_multiple: PositiveInt  # columns and reduction are padded to this many elements
    matmul_start_cycles: NonNegative
    vector_bytes_per_cycle: PositiveInt  # one core
    vector_start_cycles: NonNegative
    special_slowdown: Annotated[float, msgspec.Meta(ge=1)]  # exp, log, divide against an add
    rearrange_slowdown: Annotated[float, msgspec.Meta(ge=1)]  # transpose, reshape against an add
    scalar_op_cycles: Positive  # one scalar operation
    scalar_access_cycles: Positive  # one scalar load or store in NRAM
    step_cycles: NonNegative  # loop control and synchronisation of one staged step

    launch_us: NonNegative  # a warm launch

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
