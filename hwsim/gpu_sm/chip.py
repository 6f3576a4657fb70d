"""The fields of an NVIDIA GPU's chip file.

What is the same on every NVIDIA GPU since Maxwell is a constant of this module (source: CUDA C++
programming guide, compute capabilities); what differs is a field.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hwsim.chip import Chip, Dtype
from hwsim.units import (
    Bytes,
    Cores,
    Count,
    Cycles,
    Efficiency,
    Exponent,
    GbPerS,
    Gib,
    Instructions,
    Kib,
    Mhz,
    Microseconds,
    PerCycle,
    ReservedBytes,
    ReservedKib,
    ShareOfKib,
    SomeCycles,
    SomeInstructions,
    SomeMilliseconds,
    WholePerCycle,
)

WARP = 32  # threads
BANKS = 32  # shared-memory banks
BANK_BYTES = 4
SECTOR_BYTES = 32
LINE_BYTES = 128
SUB_PARTITIONS = 4  # warp schedulers of an SM
REGISTER_UNIT = 256  # registers are given to a warp in units of this many
MAX_REGISTERS_THREAD = 255  # beyond it values spill to local memory

Overlap = Annotated[float, msgspec.Meta(ge=0, le=100)]


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Constants of the model, not of the silicon: compiler habits and the overlap of units."""

    unit_exponent: Exponent  # p-norm over units: 1 serial, infinite ideal overlap
    unit_exponent_pipelined: Exponent  # the same in software-pipelined code
    path_exponent: Exponent  # p-norm of units and latency
    epilogue_overlap: Overlap  # each further resident block hides epilogues by this exponent
    loads_in_flight: SomeInstructions  # independent loads of a thread in a loop
    serial_loads_in_flight: SomeInstructions  # the same where each load sits in a branch of its own
    hoard_inputs: Instructions  # live inputs from which on the compiler keeps them in registers
    hoard_code: Instructions  # MACs and loads of straight-line code from which on it does so
    hoard_code_most: Instructions  # and beyond which it no longer does
    auto_unroll: SomeInstructions  # MACs that the compiler unrolls by itself
    index_ops: Instructions  # instructions for the addresses of one staged load
    stage_loop_ops: Instructions  # instructions of one iteration of a rolled loop over them
    loop_ops: Instructions  # instructions of one rolled loop iteration
    barrier_clk: Cycles
    handover_clk: Cycles  # a block adds its part to a split-K result and lets the next one in
    fetch_instructions_clk: PerCycle  # an SM a clock, of code that runs once
    fetch_code: SomeInstructions  # that are fetched at that rate; longer code is streamed


class GpuChip(Chip, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One NVIDIA GPU.  Rates "an SM a clock" are per streaming multiprocessor and SM clock.

    ``clock_mhz`` is the clock of a short kernel, ``sustained_share`` the share of it that the power
    limit leaves to long arithmetic, ``throttle_ms`` the busy time at which half of the loss has
    come.  Latencies are in SM clocks.
    """

    backend: Literal["gpu_sm"]
    compute_capability: Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d$")]
    sms: Cores
    clock_mhz: Mhz
    sustained_share: Efficiency
    throttle_ms: SomeMilliseconds

    max_threads_block: Count
    max_threads_sm: Count
    max_blocks_sm: Count
    registers_sm: Count
    shared_sm_kib: Kib
    shared_block_kib: Kib  # opt-in limit of one block
    shared_reserve_bytes: ReservedBytes  # kept by the driver for each block
    shared_unit_bytes: Bytes
    l1_shared_kib: Kib  # the SRAM that L1 and shared memory divide
    carveout_min_kib: ReservedKib  # of it, what L1 never gets
    l2_kib: Kib
    l2_sm_kib: ShareOfKib  # of it, what one SM's resident blocks can count on
    dram_gib: Gib

    fma_lanes_sm: WholePerCycle  # fp32 FMAs an SM a clock
    int_lanes_sm: WholePerCycle  # integer and compare operations an SM a clock
    special_lanes_sm: WholePerCycle  # exp2, rcp, rsqrt an SM a clock
    tensor_macs_sm: dict[Dtype, WholePerCycle]  # dense tensor-core MACs an SM a clock
    l1_bytes_clk_sm: WholePerCycle  # L1 and shared memory, an SM a clock
    l2_bytes_clk_sm: WholePerCycle  # L2 to one SM, a clock
    l2_bytes_clk: WholePerCycle  # the whole L2, a clock
    l2_efficiency: Efficiency  # share of it that is reached
    dram_gbps: GbPerS  # 1e9 bytes a second
    dram_efficiency: Efficiency  # share of it that a long copy reaches

    fma_latency: SomeCycles
    shared_latency: SomeCycles
    l1_latency: SomeCycles
    l2_latency: SomeCycles
    dram_latency: SomeCycles
    model: Model

    launch_us: Microseconds  # an empty kernel, back to back
    block_launch_clk: Cycles  # starting one block on an SM

    @property
    def hz(self) -> float:
        """SM clock in 1/s, before any throttling."""
        return self.clock_mhz * 1e6

    @property
    def peak_fp32_tflops(self) -> float:
        """fp32 TFLOP/s at the boost clock, a FMA counted as 2."""
        return 2e-6 * self.sms * self.fma_lanes_sm * self.clock_mhz


CHIP = GpuChip
