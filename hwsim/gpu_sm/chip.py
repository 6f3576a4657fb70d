"""The fields of an NVIDIA GPU's chip file.

What is the same on every NVIDIA GPU since Maxwell is a constant of this module (source: CUDA C++
programming guide, compute capabilities); what differs is a field.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hwsim.chip import Chip, Dtype, NonNegative, Positive, PositiveInt

WARP = 32  # threads
BANKS = 32  # shared-memory banks
BANK_BYTES = 4
SECTOR_BYTES = 32
LINE_BYTES = 128
SUB_PARTITIONS = 4  # warp schedulers of an SM
REGISTER_UNIT = 256  # registers are given to a warp in units of this many
MAX_REGISTERS_THREAD = 255  # beyond it values spill to local memory

Exponent = Annotated[float, msgspec.Meta(ge=1)]
Efficiency = Annotated[float, msgspec.Meta(gt=0, le=1)]


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Constants of the model, not of the silicon: compiler habits and the overlap of units."""

    unit_exponent: Exponent  # p-norm over units: 1 serial, infinite ideal overlap
    unit_exponent_pipelined: Exponent  # the same in software-pipelined code
    path_exponent: Exponent  # p-norm of units and latency
    epilogue_overlap: NonNegative  # each further resident block hides epilogues by this exponent
    loads_in_flight: Positive  # independent loads of a thread in a loop
    serial_loads_in_flight: Positive  # the same where each load sits in a branch of its own
    hoard_inputs: NonNegative  # live inputs from which on the compiler keeps them in registers
    hoard_code: NonNegative  # MACs and loads of straight-line code from which on it does so
    hoard_code_most: NonNegative  # and beyond which it no longer does
    auto_unroll: Positive  # MACs that the compiler unrolls by itself
    index_ops: NonNegative  # instructions for the addresses of one staged load
    stage_loop_ops: NonNegative  # instructions of one iteration of a rolled loop over them
    loop_ops: NonNegative  # instructions of one rolled loop iteration
    barrier_clk: NonNegative
    handover_clk: NonNegative  # a block adds its part to a split-K result and lets the next one in
    fetch_instructions_clk: Positive  # an SM a clock, of code that runs once
    fetch_code: Positive  # instructions that are fetched at that rate; longer code is streamed


class GpuChip(Chip, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One NVIDIA GPU.  Rates "an SM a clock" are per streaming multiprocessor and SM clock.

    ``clock_mhz`` is the clock of a short kernel, ``sustained_share`` the share of it that the power
    limit leaves to long arithmetic, ``throttle_ms`` the busy time at which half of the loss has
    come.  Latencies are in SM clocks.
    """

    backend: Literal["gpu_sm"]
    compute_capability: Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d$")]
    sms: PositiveInt
    clock_mhz: Annotated[float, msgspec.Meta(ge=100, le=5000)]
    sustained_share: Efficiency
    throttle_ms: Positive

    max_threads_block: PositiveInt
    max_threads_sm: PositiveInt
    max_blocks_sm: PositiveInt
    registers_sm: PositiveInt
    shared_sm_kib: PositiveInt
    shared_block_kib: PositiveInt  # opt-in limit of one block
    shared_reserve_bytes: Annotated[int, msgspec.Meta(ge=0)]  # kept by the driver for each block
    shared_unit_bytes: PositiveInt
    l1_shared_kib: PositiveInt  # the SRAM that L1 and shared memory divide
    carveout_min_kib: Annotated[int, msgspec.Meta(ge=0)]  # of it, what L1 never gets
    l2_kib: PositiveInt
    l2_sm_kib: Positive  # of it, what one SM's resident blocks can count on
    dram_gib: Positive

    fma_lanes_sm: PositiveInt  # fp32 FMAs an SM a clock
    int_lanes_sm: PositiveInt  # integer and compare operations an SM a clock
    special_lanes_sm: PositiveInt  # exp2, rcp, rsqrt an SM a clock
    tensor_macs_sm: dict[Dtype, PositiveInt]  # dense tensor-core MACs an SM a clock
    l1_bytes_clk_sm: PositiveInt  # L1 and shared memory, an SM a clock
    l2_bytes_clk_sm: PositiveInt  # L2 to one SM, a clock
    l2_bytes_clk: PositiveInt  # the whole L2, a clock
    l2_efficiency: Efficiency  # share of it that is reached
    dram_gbps: Positive  # 1e9 bytes a second
    dram_efficiency: Efficiency  # share of it that a long copy reaches

    fma_latency: Positive
    shared_latency: Positive
    l1_latency: Positive
    l2_latency: Positive
    dram_latency: Positive
    model: Model

    launch_us: NonNegative  # an empty kernel, back to back
    block_launch_clk: NonNegative  # starting one block on an SM

    @property
    def hz(self) -> float:
        """SM clock in 1/s, before any throttling."""
        return self.clock_mhz * 1e6

    @property
    def peak_fp32_tflops(self) -> float:
        """fp32 TFLOP/s at the boost clock, a FMA counted as 2."""
        return 2e-6 * self.sms * self.fma_lanes_sm * self.clock_mhz


CHIP = GpuChip
