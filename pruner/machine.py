"""A chip reduced to what all backends have: cores, peak rates, memories, transfer sizes.

Rules and features that mean the same on every backend read this instead of the chip.  Peaks are the
chip file's, sustained shares included where the file has them: an optimistic, never a pessimistic
picture, so that a bound computed from it is a bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hwsim.ascend_cube.chip import AscendChip
from hwsim.chip import Chip
from hwsim.cpu.chip import CpuChip
from hwsim.gpu_sm.chip import GpuChip
from hwsim.mlu_sram.chip import MluChip
from hwsim.table import KernelTable
from pruner.once import once_a_chip, once_a_table

CYCLES_PER_US = 1000.0  # of a CPU, nominal
CORES_OFF = 3 / 4  # of the cores that are there: 20 % too few, in whole cores, are 3 for 4
_DTYPE_OF_BITS = {8: "int8", 16: "float16", 32: "float32"}


@dataclass(frozen=True)
class Machine:
    """Rates of the whole chip a microsecond; bytes are bytes.

    ``macs_per_us`` and ``tensor_macs_per_us`` map input bits to the peak of the scalar or vector
    units and of the matrix unit; ``fields`` names the chip's fields behind each number.
    """

    cores: int
    vector_cores: int  # that kernels without matrix instructions spread over
    tensor_macs_per_us: Mapping[int, float]
    macs_per_us: float  # without the matrix unit, fp32
    vector_bytes_per_us: float
    offchip_bytes_per_us: float
    cache_bytes: float  # L2, or the SRAM of all clusters
    cache_bytes_per_us: float
    launch_us: float
    core_start_us: float  # of each round of blocks
    transfer_wait_us: float  # of each off-chip transfer; 0: they queue, or run beside each other
    caches: bool  # whether bytes that are read again may come from a cache
    fields: Mapping[str, tuple[str, ...]]

    def peak(self, table: KernelTable) -> NDArray[np.float64]:
        """``(n,)`` MACs a microsecond of the unit that each row uses, on all cores."""
        bits, matrix = table["in_bits"], self.on_matrix_unit(table)
        rate = np.full(table.n, self.macs_per_us)
        for width, macs in self.tensor_macs_per_us.items():
            rate = np.where(matrix & (bits == width), macs, rate)
        return rate

    def cores_for(self, table: KernelTable) -> NDArray[np.float64]:
        """``(n,)`` cores that each row's blocks spread over."""
        return np.where(self.on_matrix_unit(table), float(self.cores), float(self.vector_cores))

    def vector_sharers(self, table: KernelTable) -> NDArray[np.float64]:
        """``(n,)`` vector cores that share a block's vector work: all of its matrix core."""
        return np.where(self.on_matrix_unit(table), self.vector_cores / self.cores, 1.0)

    def rounds(self, table: KernelTable) -> NDArray[np.float64]:
        """``(n,)`` blocks that the busiest core has to do, one after the other."""
        return np.asarray(np.ceil(blocks_of(table) / self.cores_for(table)))

    def memory_bytes_per_us(self, unique_bytes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rate of what crosses the edge of the cores: the cache's where all of ``unique_bytes``
        ``(n,)`` fits it, since an earlier launch may have left it there.
        """
        offchip = self.offchip_bytes_per_us
        if not self.caches:
            return np.asarray(offchip)
        cached = max(offchip, self.cache_bytes_per_us)
        return np.where(unique_bytes > self.cache_bytes, offchip, cached)

    def fewest_rounds(self, table: KernelTable) -> NDArray[np.float64]:
        """``(n,)`` the same on as many cores as there may be where the chip file has too few.

        A file that is 20 % off moves other numbers by 20 %; one core too few is a round more, and
        twice the time where there was one.
        """
        return np.asarray(np.ceil(CORES_OFF * blocks_of(table) / self.cores_for(table)))

    @staticmethod
    def on_matrix_unit(table: KernelTable) -> NDArray[np.bool_]:
        """``(n,)`` whether the MACs run on the Cube, the matrix unit, or tensor cores."""
        if table.backend == "cpu":
            return np.zeros(table.n, dtype=bool)
        return np.asarray(table["tensor_core" if table.backend == "gpu_sm" else "mm_count"] > 0)


@once_a_table
def blocks_of(table: KernelTable) -> NDArray[np.float64]:
    """``(n,)`` blocks of each kernel, at least 1; on the MLU also given as clusters times cores."""
    blocks = table["blocks"]
    if table.backend == "mlu_sram":
        blocks = np.maximum(blocks, table["clusters"] * table["cores_per_cluster"])
    return np.maximum(blocks, 1).astype(np.float64)


def dtype_of(bits: int) -> str:
    """The dtype that the workloads use at a width; ``int8``, ``float16`` or ``float32``."""
    return _DTYPE_OF_BITS.get(bits, "float32")


@once_a_chip
def machine_of(chip: Chip) -> Machine:
    """The reduced picture of a chip; ``TypeError`` for a backend that has none."""
    if isinstance(chip, AscendChip):
        return _ascend(chip)
    if isinstance(chip, MluChip):
        return _mlu(chip)
    if isinstance(chip, GpuChip):
        return _gpu(chip)
    if isinstance(chip, CpuChip):
        return _cpu(chip)
    raise TypeError(f"chip {chip.name!r}: backend {chip.backend!r} has no machine model")


def _by_bits(per_dtype: Any, scale: float) -> dict[int, float]:
    """Bits -> scaled rate of the dtypes that a struct or a mapping of the chip lists."""
    rates = msgspec.to_builtins(per_dtype)
    return {bits: rates[d] * scale for bits, d in _DTYPE_OF_BITS.items() if d in rates}


def _ascend(chip: AscendChip) -> Machine:
    cube = {d: float(chip.cube_m * chip.cube_n * k) for d, k in chip.cube_k.items()}
    vector = chip.vector_cores * chip.vector_bytes_per_cycle * chip.clock_mhz
    return Machine(
        cores=chip.cube_cores,
        vector_cores=chip.vector_cores,
        tensor_macs_per_us=_by_bits(cube, chip.cube_cores * chip.clock_mhz),
        macs_per_us=vector / 4,
        vector_bytes_per_us=vector,
        offchip_bytes_per_us=chip.hbm_gb_per_s * 1e3,
        cache_bytes=chip.l2_mib * 2.0**20,
        cache_bytes_per_us=chip.l2_gb_per_s * 1e3,
        launch_us=chip.launch_us,
        core_start_us=chip.core_start_us,
        transfer_wait_us=0.0,
        caches=True,
        fields={
            "cores": ("cube_cores",),
            "macs": ("cube_m", "cube_n", "cube_k", "clock_mhz"),
            "offchip": ("hbm_gb_per_s",),
        },
    )


def _mlu(chip: MluChip) -> Machine:
    cycles = chip.cores * chip.clock_mhz
    return Machine(
        cores=chip.cores,
        vector_cores=chip.cores,
        tensor_macs_per_us=_by_bits(chip.macs_per_cycle, cycles),
        macs_per_us=cycles * chip.vector_bytes_per_cycle / 4,
        vector_bytes_per_us=cycles * chip.vector_bytes_per_cycle,
        offchip_bytes_per_us=chip.ddr_gbps * 1e3,
        cache_bytes=float(chip.sram_bytes * chip.clusters),
        cache_bytes_per_us=chip.sram_bytes_per_cycle * chip.clusters * chip.clock_mhz,
        launch_us=chip.launch_us,
        core_start_us=0.0,
        transfer_wait_us=chip.ddr_latency_ns / 1e3,
        caches=False,
        fields={
            "cores": ("clusters", "cores_per_cluster"),
            "macs": ("macs_per_cycle", "clock_mhz"),
            "offchip": ("ddr_gbps",),
        },
    )


def _gpu(chip: GpuChip) -> Machine:
    cycles = chip.sms * chip.clock_mhz
    return Machine(
        cores=chip.sms,
        vector_cores=chip.sms,
        tensor_macs_per_us=_by_bits(chip.tensor_macs_sm, cycles),
        macs_per_us=cycles * chip.fma_lanes_sm,
        vector_bytes_per_us=cycles * chip.fma_lanes_sm * 4,
        offchip_bytes_per_us=chip.dram_gbps * 1e3,
        cache_bytes=chip.l2_kib * 1024.0,
        cache_bytes_per_us=chip.l2_bytes_clk * chip.clock_mhz,
        launch_us=chip.launch_us,
        core_start_us=0.0,
        transfer_wait_us=0.0,
        caches=True,
        fields={
            "cores": ("sms",),
            "macs": ("fma_lanes_sm", "tensor_macs_sm", "clock_mhz"),
            "offchip": ("dram_gbps",),
        },
    )


def _cpu(chip: CpuChip) -> Machine:
    """Nominal rates: a cycle counts as a nanosecond, since a CPU's file names no clock."""
    cycles = chip.cores * CYCLES_PER_US
    vector = cycles * chip.fma_per_cycle * chip.vector_bytes
    return Machine(
        cores=chip.cores,
        vector_cores=chip.cores,
        tensor_macs_per_us={},
        macs_per_us=vector / 4,
        vector_bytes_per_us=vector,
        offchip_bytes_per_us=chip.memory_bytes_per_cycle * CYCLES_PER_US,
        cache_bytes=chip.l3_kib * 1024.0,
        cache_bytes_per_us=chip.cache_bytes_per_cycle * CYCLES_PER_US,
        launch_us=chip.start_us,
        core_start_us=0.0,
        transfer_wait_us=0.0,
        caches=True,
        fields={
            "cores": ("cores",),
            "macs": ("vector_bytes", "fma_per_cycle"),
            "offchip": ("memory_bytes_per_cycle",),
        },
    )
