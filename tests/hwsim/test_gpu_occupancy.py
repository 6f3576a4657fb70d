"""Occupancy as cuda_occupancy.h counts it, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hwsim.chips import load_chip
from hwsim.gpu_sm.analytical import simulate
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.convolution import convolution_2d
from hwsim.gpu_sm.occupancy import ADDRESSING_REGISTERS, occupancy_of
from hwsim.outcome import error_line
from hwsim.result import Failure
from hwsim.rows import Rows
from hwsim.table import KernelTable


def chip(name: str) -> GpuChip:
    found = load_chip(name)
    assert isinstance(found, GpuChip)
    return found


def resident(name: str, threads: int, registers: int, shared: int) -> float:
    regs = registers - ADDRESSING_REGISTERS
    table = KernelTable.of("gpu_sm", threads=threads, acc_regs=regs, shared_bytes=float(shared))
    return float(occupancy_of(Rows(table), chip(name)).blocks_sm[0])


@pytest.mark.parametrize(
    ("name", "threads", "registers", "shared", "blocks"),
    [
        ("a100-sxm-40gb", 256, 32, 0, 8),  # 2048 threads
        ("a100-sxm-40gb", 256, 64, 0, 4),  # 65536 / (64 * 256)
        ("a100-sxm-40gb", 256, 65, 0, 3),  # 65 registers take 72
        ("a100-sxm-40gb", 32, 32, 0, 32),  # blocks
        ("a100-sxm-40gb", 128, 32, 48 * 1024, 3),  # 49 KiB each, the driver's one included
        ("a100-sxm-40gb", 128, 32, 163 * 1024, 1),
        ("v100-sxm2", 128, 32, 48 * 1024, 2),  # nothing reserved before 8.0
        ("t4", 256, 32, 0, 4),  # 1024 threads
        ("rtx-3090", 128, 32, 0, 12),  # 1536 threads
        ("h100-sxm", 128, 32, 100 * 1024, 2),
        ("a100-sxm-40gb", 1024, 64, 0, 1),
    ],
)
def test_resident_blocks(name: str, threads: int, registers: int, shared: int, blocks: int) -> None:
    assert resident(name, threads, registers, shared) == blocks


def refused(**columns: float) -> tuple[Failure, str | None]:
    result = simulate(KernelTable.of("gpu_sm", **columns), chip("a100-sxm-40gb"))
    return Failure(int(result.failure[0])), error_line(result, 0)


def test_failures_carry_need_and_have() -> None:
    assert refused(shared_bytes=163 * 1024.0)[0] == Failure.ok
    assert refused(shared_bytes=163 * 1024 + 1.0) == (
        Failure.compile_error,
        "compile_error: shared_memory_block needs 166913 B, has 166912 B",
    )
    assert refused(shared_bytes=48 * 1024 + 1.0, shared_static=1)[0] == Failure.compile_error
    assert refused(threads=1025)[0] == Failure.launch_error
    assert refused(threads=1024)[0] == Failure.ok


def test_registers_refuse_a_launch_unless_the_compiler_knows_the_block() -> None:
    """288 threads are reserved as 12 warps: 12 * 32 * 176 is beyond the register file."""
    big = {"threads": 288, "acc_regs": 176 - ADDRESSING_REGISTERS}
    failure, text = refused(**big, launch_bounds=0)
    assert failure == Failure.launch_error
    assert text is not None
    assert "registers_block needs 67584 registers, has 65536" in text
    assert refused(**big)[0] == Failure.ok


def test_long_straight_line_code_with_many_live_inputs_takes_every_register() -> None:
    """8 rows a thread apart are used again by 4 outputs; 16 rows or one output a row are not, and
    what is loaded under a bounds check (48 columns) is not kept.
    """
    table = convolution_2d(
        [64, 64, 16, 64, 48], [4, 4, 16, 4, 4], 4, [4, 1, 4, 4, 4], staged=[1, 1, 1, 0, 0]
    )
    result = simulate(table, chip("a100-sxm-40gb"))
    assert (result.counters["registers"] >= 255).tolist() == [True, False, False, True, False]


# Rows of threads, tiles -> registers that NVRTC 12.2 reports for read-only loads straight to
# registers, 64 columns of threads on compute capability 8.0.
READ_ONLY = {
    (4, 1, 1): 48, (4, 2, 1): 86, (4, 4, 1): 186, (4, 1, 2): 64, (4, 1, 4): 116, (4, 2, 2): 133,
    (4, 2, 4): 255, (4, 4, 2): 255, (8, 1, 4): 255, (8, 2, 2): 255, (16, 1, 2): 48, (16, 2, 2): 80,
}  # fmt: skip
CHECKED = {(4, 3, 4): 189, (4, 4, 3): 191, (4, 4, 4): 192, (1, 3, 4): 190}  # 48 columns


@pytest.mark.parametrize(("columns", "compiled"), [(64, READ_ONLY), (48, CHECKED)])
def test_read_only_loads_take_the_registers_of_the_compiler(
    columns: int, compiled: dict[tuple[int, int, int], int]
) -> None:
    rows, tile_x, tile_y = np.array(list(compiled)).T
    table = convolution_2d(columns, rows, tile_x, tile_y, staged=0, read_only=1)
    registers = simulate(table, chip("a100-sxm-40gb")).counters["registers"]
    assert np.allclose(registers, list(compiled.values()), rtol=0.2)


def test_launches_fail_where_inputs_are_kept_in_registers() -> None:
    table = convolution_2d([64, 96], 4, 4, 4)  # 256 threads of 255 registers fit, 384 do not
    failure = simulate(table, chip("a100-sxm-40gb")).failure
    assert failure.tolist() == [Failure.ok, Failure.launch_error]


def test_what_does_not_fit_into_registers_spills() -> None:
    table = KernelTable.of("gpu_sm", threads=256, acc_regs=[64, 300], operand_regs=16, macs=1e9)
    result = simulate(table, chip("a100-sxm-40gb"))
    assert result.counters["spill_bytes"][0] == 0
    assert result.counters["spill_bytes"][1] > 0
    assert result.counters["registers"][1] == 256
    assert result.latency_us[1] > result.latency_us[0]


def test_waves_follow_the_blocks() -> None:
    """108 SMs of 8 blocks: one more block than fits starts a second round of latency."""
    per_wave = 108 * 8
    table = KernelTable.of("gpu_sm", threads=256, blocks=[per_wave, per_wave + 1], macs=1e6)
    result = simulate(table, chip("a100-sxm-40gb"))
    assert np.allclose(result.counters["waves"], [1, 1 + 1 / per_wave])
    assert result.latency_us[1] > result.latency_us[0]
