"""The one description of a kernel's costs that both GPU models share.

Demands are busy clocks of one SM's units for one block; path terms are the clocks that one block
needs with the SM to itself, were every unit infinitely wide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.columns import GPU_STREAMS
from hwsim.gpu_sm.access import Access, access_of
from hwsim.gpu_sm.chip import LINE_BYTES, SUB_PARTITIONS, WARP, GpuChip
from hwsim.gpu_sm.occupancy import Occupancy, occupancy_of
from hwsim.gpu_sm.traffic import Traffic, requests_of, traffic_of
from hwsim.table import KernelTable

Floats = NDArray[np.float64]

UNITS = ("issue", "fma", "int", "special", "tensor", "lsu", "l2", "dram")


@dataclass(frozen=True)
class Costs:
    """Columns ``(n,)``; see the module's text for demand and path."""

    occupancy: Occupancy
    traffic: Traffic
    blocks: Floats
    demand: dict[str, Floats]  # unit -> clocks of one block on one SM
    epilogue: dict[str, Floats]  # unit -> those of them that write the results
    stage_path: Floats  # waiting for staged data, all steps
    compute_path: Floats  # issue and dependences of one warp, all steps
    steps: Floats  # staged steps of one block
    pipelined: NDArray[np.bool_]
    straight: NDArray[np.bool_]  # runs once through code that the instruction caches do not hold
    fma_count: Floats  # thread-level MACs of the kernel outside the tensor cores
    shared_wavefronts: Floats  # of the kernel
    spill_bytes: Floats  # local-memory bytes of the kernel


def costs_of(table: KernelTable, chip: GpuChip) -> Costs:
    """Costs of every row; rows that cannot run get finite costs too."""
    occupancy = occupancy_of(table, chip)
    access = {s: access_of(table, s) for s in GPU_STREAMS if np.any(table[f"{s}_count"])}
    traffic = traffic_of(table, chip, occupancy, access)
    work = _Work(table, chip, occupancy, access, traffic)
    steps = np.maximum(_f(table, "k_steps"), 1) * np.maximum(_f(table, "out_tiles"), 1)
    return Costs(
        occupancy=occupancy,
        traffic=traffic,
        blocks=work.blocks,
        demand=work.demand(),
        epilogue=work.epilogue(),
        stage_path=work.stage_path(steps),
        compute_path=work.compute_path(),
        steps=steps,
        pipelined=np.asarray(table["pipeline_stages"] > 1),
        straight=work.straight,
        fma_count=work.macs * (1 - work.tensor),
        shared_wavefronts=work.wavefronts * work.blocks,
        spill_bytes=work.spill_ops * WARP * 4 * work.blocks,
    )


class _Work:
    """Instruction counts of one block, and what they cost."""

    def __init__(
        self,
        table: KernelTable,
        chip: GpuChip,
        occupancy: Occupancy,
        access: dict[str, Access],
        traffic: Traffic,
    ) -> None:
        self.table, self.chip, self.access, self.traffic = table, chip, access, traffic
        self.warps, self.spilled = occupancy.warps, occupancy.spill_registers
        self.resident = occupancy.blocks_sm
        self.blocks = np.maximum(_f(table, "blocks"), 1)
        self.threads = np.maximum(_f(table, "threads"), 1)
        self.tensor = (_f(table, "tensor_core") > 0).astype(np.float64)
        self.macs = _f(table, "macs")
        self.thread_macs = self.macs / self.blocks / self.threads
        self.acc = np.maximum(_f(table, "acc_regs"), 1)
        self.straight = _f(table, "code_macs") > chip.model.icache_macs
        # One iteration updates every accumulator of the thread once.
        self.iterations = np.where(self.tensor > 0, 0, self.thread_macs / self.acc)
        self.requests = {s: requests_of(table, s, a, self.warps) for s, a in access.items()}
        self.wavefronts = self._wavefronts()
        self.spill_ops = 2 * self.spilled * self.iterations * self.warps

    def _wavefronts(self) -> Floats:
        total = np.zeros(self.table.n)
        for stream, requests in self.requests.items():
            if stream.endswith("_global_shared"):
                total += requests * self._store_side(stream)
            elif "shared" in stream:
                total += requests * self.access[stream].wavefronts
        return total

    def _store_side(self, stream: str) -> Floats:
        return store_wavefronts(self.table, stream)

    def demand(self) -> dict[str, Floats]:
        """Unit -> clocks of one SM for one block, were the blocks spread over all SMs."""
        chip, traffic = self.chip, self.traffic
        return {
            "issue": self.instructions / SUB_PARTITIONS,
            "fma": self.fma * WARP / chip.fma_lanes_sm,
            "int": self.integer * WARP / chip.int_lanes_sm,
            "special": self.special * WARP / chip.special_lanes_sm,
            "tensor": self.tensor * self.macs / self.blocks / self._tensor_rate(),
            "lsu": self._lsu(self.wavefronts + self.spill_ops + traffic.l1_passes) + traffic.l1_tags,
            "l2": self._l2(traffic.l2_bytes + self._spilled_bytes()),
            "dram": self._dram(traffic.dram_bytes),
        }

    def epilogue(self) -> dict[str, Floats]:
        """The part of :meth:`demand` that writes results, after a block's other work."""
        traffic = self.traffic
        return {
            "lsu": traffic.store_tags,
            "l2": self._l2(traffic.l2_write_bytes),
            "dram": self._dram(traffic.dram_write_bytes),
        }

    def _lsu(self, passes: Floats) -> Floats:
        return np.asarray(passes * LINE_BYTES / self.chip.l1_bytes_clk_sm)

    def _l2(self, bytes_: Floats) -> Floats:
        chip = self.chip
        whole = chip.sms / (chip.l2_bytes_clk * chip.l2_efficiency)
        return np.asarray(bytes_ / self.blocks * max(whole, 1 / chip.l2_bytes_clk_sm))

    def _dram(self, bytes_: Floats) -> Floats:
        chip = self.chip
        per_clk = chip.dram_gbps * 1e9 * chip.dram_efficiency / chip.hz
        return np.asarray(bytes_ / self.blocks * chip.sms / per_clk)

    @property
    def fma(self) -> Floats:
        """FMA-pipe instructions of all warps of a block."""
        return np.asarray(self.thread_macs * self.warps * (1 - self.tensor))

    @property
    def special(self) -> Floats:
        return np.asarray(_f(self.table, "special_ops") / self.blocks / WARP)

    @property
    def memory_ops(self) -> Floats:
        return np.asarray(sum(self.requests.values(), np.zeros(self.table.n)) + self.spill_ops)

    @property
    def integer(self) -> Floats:
        """Element operations, index arithmetic and loop control of a block, in warp instructions."""
        table = self.table
        staged = sum(
            (r for s, r in self.requests.items() if s.endswith("_global_shared")), np.zeros(table.n)
        )
        direct = sum(
            (r for s, r in self.requests.items() if "global" in s), -staged
        )
        unroll = np.maximum(_f(table, "unroll"), self.chip.model.auto_unroll)
        loops = self.iterations / np.maximum(unroll / self.acc, 1)
        alu = _f(table, "alu_ops") / self.blocks / WARP
        model = self.chip.model
        return np.asarray(
            alu + model.index_ops * staged + direct + model.loop_ops * loops * self.warps
        )

    @property
    def instructions(self) -> Floats:
        mma = self.tensor * self.macs / self.blocks / (16 * 8 * 16)
        return self.fma + self.integer + self.special + self.memory_ops + mma

    def _tensor_rate(self) -> Floats:
        """Tensor-core MACs an SM a clock, by the width of the inputs."""
        rates = self.chip.tensor_macs_sm
        half = float(rates.get("float16", self.chip.fma_lanes_sm))
        byte = float(rates.get("int8", half))
        return np.where(_f(self.table, "in_bits") <= 8, byte, half)

    def _spilled_bytes(self) -> Floats:
        """Spilled values that L1 does not hold, of the kernel."""
        local = self.spill_ops * WARP * 4 * self.blocks
        footprint = self.spilled * 4 * self.threads * self.resident
        l1 = self.chip.l1_shared_kib * 1024 - self.resident * _f(self.table, "shared_bytes")
        missed = 1 - np.minimum(np.maximum(l1, 0) / np.maximum(footprint, 1), 1)
        return np.asarray(local * missed)

    def memory_latency(self) -> Floats:
        """Clocks that one load from beyond L1 takes, by the share that goes on to DRAM."""
        chip, traffic = self.chip, self.traffic
        share = np.minimum(traffic.dram_read_bytes / np.maximum(traffic.l2_read_bytes, 1), 1)
        return np.asarray(chip.l2_latency + share * (chip.dram_latency - chip.l2_latency))

    def stage_path(self, steps: Floats) -> Floats:
        """Clocks that a block waits for its staged tiles: batches of loads, then barriers."""
        chip, table = self.chip, self.table
        loads = sum(
            (_f(table, f"{s}_count") * a.split for s, a in self.access.items()
             if s.endswith("_global_shared")), np.zeros(table.n))  # fmt: skip
        ahead = np.where(
            table["serial_loads"] > 0, chip.model.serial_loads_in_flight, chip.model.loads_in_flight
        )
        batches = np.ceil(loads / steps / ahead) * steps
        barriers = _f(table, "barriers") * chip.model.barrier_clk
        chained = np.maximum(_f(table, "chained_blocks") - 1, 0) * chip.model.handover_clk
        return np.asarray(
            chip.block_launch_clk + batches * self.memory_latency() + barriers + chained
        )

    def compute_path(self) -> Floats:
        """Clocks of one warp through its arithmetic, alone on its sub-partition."""
        chip, model = self.chip, self.chip.model
        interval = np.maximum(
            WARP * SUB_PARTITIONS / chip.fma_lanes_sm, chip.fma_latency / self.acc
        )
        fetch = np.where(self.straight, model.fetch_clk, 0)
        fma = self.fma / self.warps * np.maximum(interval, fetch)
        rest = (self.instructions - self.fma) / self.warps
        return np.asarray(fma + rest + self._operand_stalls())

    def _operand_stalls(self) -> Floats:
        """Waiting for operands: once an iteration, or an access where there are no iterations."""
        chip, table = self.chip, self.table
        hit = self.traffic.l1_hit
        near = hit * chip.l1_latency + (1 - hit) * self.memory_latency()
        latency = {"_shared_local": np.full(table.n, chip.shared_latency), "_global_local": near}
        stalls = np.zeros(table.n)
        for kind, clk in latency.items():
            counts = [
                _f(table, f"{s}_count") * a.split
                for s, a in self.access.items()
                if s.endswith(kind) and s[0] != "c"
            ]
            most = np.maximum.reduce([np.zeros(table.n), *counts])
            waits = np.where(self.iterations > 0, np.minimum(self.iterations, most), most)
            stalls += waits / chip.model.loads_in_flight * clk
        return np.asarray(stalls)


def store_wavefronts(table: KernelTable, stream: str) -> Floats:
    """Wavefronts of the shared-memory stores of a staging stream."""
    names = ("lanes", "elem_bytes", "thread_run", "count", "bytes")
    columns = {f"{stream}_{n}": table[f"{stream}_{n}"] for n in names}
    dense = table[f"{stream}_store_stride1_bytes"] + table[f"{stream}_store_stride2_bytes"] == 0
    width = _f(table, f"{stream}_lanes") * _f(table, f"{stream}_elem_bytes")
    run = np.maximum(_f(table, f"{stream}_thread_run"), 1)
    step1 = np.where(dense, width, table[f"{stream}_store_stride1_bytes"])
    step2 = np.where(dense, width * run, table[f"{stream}_store_stride2_bytes"])
    columns |= {f"{stream}_stride1_bytes": step1, f"{stream}_stride2_bytes": step2}
    side = KernelTable("gpu_sm", table.n, {**columns, "threads": table["threads"]})
    return access_of(side, stream).wavefronts


def _f(table: KernelTable, name: str) -> Floats:
    return np.asarray(table[name], dtype=np.float64)
