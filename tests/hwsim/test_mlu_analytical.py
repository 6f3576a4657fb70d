"""The MLU's analytical model: cliffs, failures, sharing of the bus, odd sizes."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from hwsim.chips import load_chip
from hwsim.mlu_sram.analytical import simulate
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.flows import bus_bytes_of_run
from hwsim.outcome import error_line
from hwsim.result import Failure, SimResult
from hwsim.table import KernelTable


@pytest.fixture(scope="module")
def s4() -> MluChip:
    chip = load_chip("mlu370-s4")
    assert isinstance(chip, MluChip)
    return chip


def staged(**changes: Any) -> KernelTable:
    """A union kernel that stages A in SRAM: 6 clusters of 4 cores, fp16."""
    columns: dict[str, Any] = {
        "clusters": 6, "cores_per_cluster": 4, "blocks": 24, "in_bits": 16, "k_steps": 8,
        "a_gdram_sram_count": 8, "a_gdram_sram_bytes": 65536.0, "a_gdram_sram_run_bytes": 65536.0,
        "a_sram_nram_count": 8, "a_sram_nram_bytes": 65536.0,
        "mm_count": 8, "mm_m": 64, "mm_n": 64, "mm_k": 512,
        "c_nram_gdram_count": 1, "c_nram_gdram_bytes": 16384.0, "c_nram_gdram_run_bytes": 16384.0,
        "sram_bytes": 262144.0, "nram_bytes": 131072.0,
    }  # fmt: skip
    return KernelTable.of("mlu_sram", **(columns | changes))


def one(result: SimResult) -> float:
    return float(result.latency_us[0])


def test_one_byte_beyond_the_sram_falls_off_the_cliff(s4: MluChip) -> None:
    sizes = s4.sram_bytes + np.array([-4096.0, -1.0, 0.0, 1.0, 4096.0])
    result = simulate(staged(sram_bytes=sizes), s4)
    below, over = result.latency_us[:3], result.latency_us[3:]
    assert np.ptp(below) == 0
    assert np.ptp(over) == 0
    assert over[0] > 1.5 * below[0]
    assert (result.failure == Failure.ok).all()
    assert result.counters["sram_spill_bytes"].tolist() == [0, 0, 0, *sizes[3:]]
    assert result.bottleneck_names[result.bottleneck[3]] == "sram_spill"


def test_a_second_buffer_counts_against_the_sram(s4: MluChip) -> None:
    half = s4.sram_bytes / 2
    result = simulate(staged(sram_bytes=[half, half + 0.5], sram_buffers=2), s4)
    assert result.counters["sram_spill_bytes"].tolist() == [0, s4.sram_bytes + 1]


def test_the_error_policy_refuses_what_would_spill(s4: MluChip) -> None:
    strict = msgspec.structs.replace(s4, spill="error")
    result = simulate(staged(sram_bytes=[s4.sram_bytes, s4.sram_bytes + 1.0]), strict)
    assert result.failure.tolist() == [Failure.ok, Failure.compile_error]
    assert str(error_line(result, 1)).startswith("compile_error: sram_capacity needs ")


@pytest.mark.parametrize(
    ("changes", "limit", "failure", "need", "have"),
    [
        ({"nram_bytes": 753_665.0}, "nram_capacity", Failure.compile_error, 753_665, 753_664),
        ({"nram_bytes": 700_000.0, "nram_buffers": 2}, "nram_capacity", Failure.compile_error,
         765_536, 753_664),
        ({"wram_bytes": 600_000.0, "wram_buffers": 2}, "wram_capacity", Failure.compile_error,
         1_200_000, 1_048_576),
        ({"in_bits": 64}, "matmul_input_width", Failure.compile_error, 64, 32),
        ({"cores_per_cluster": 5, "blocks": 30}, "cluster_cores", Failure.launch_error, 5, 4),
        ({"c_nram_gdram_unique_bytes": 3e10}, "ddr_capacity", Failure.launch_error, 3e10,
         24 * 2**30),
        ({"blocks": 0}, "grid_blocks", Failure.launch_error, 1, 0),
    ],
)  # fmt: skip
def test_failures_carry_need_and_have(
    s4: MluChip, changes: dict[str, Any], limit: str, failure: Failure, need: float, have: float
) -> None:
    result = simulate(staged(**changes), s4)
    broken = result.limits[result.failed_limit[0]]
    assert (broken.name, result.failure[0]) == (limit, failure)
    assert (broken.need[0], broken.have[0]) == (need, have)
    assert np.isinf(result.latency_us[0])


def test_zero_and_huge_sizes_are_answered(s4: MluChip) -> None:
    empty = simulate(KernelTable("mlu_sram", 0), s4)
    assert len(empty) == 0
    idle = simulate(KernelTable.of("mlu_sram", clusters=1, blocks=1), s4)
    assert one(idle) == pytest.approx(s4.launch_us, abs=1)
    big = 2**62
    huge = simulate(staged(mm_count=big, mm_m=big, clusters=big, blocks=big, macs=1e300), s4)
    assert huge.failure[0] == Failure.timeout
    assert huge.limits[-1].need[0] > 1e30
    endless = simulate(staged(a_gdram_sram_count=big, a_gdram_sram_bytes=1e300), s4)
    assert endless.failure[0] == Failure.timeout
    assert all(np.isfinite(v).all() for v in endless.counters.values())


def test_clusters_beyond_the_chip_wait_for_the_next_round(s4: MluChip) -> None:
    result = simulate(staged(clusters=[6, 7], blocks=[24, 28], mm_count=800), s4)
    assert result.counters["rounds"].tolist() == [1, 2]
    assert result.latency_us[1] > 1.9 * result.latency_us[0]


def test_one_cluster_alone_is_held_to_its_own_limit(s4: MluChip) -> None:
    table = staged(clusters=[1, 6], blocks=[4, 24], a_gdram_sram_bytes=1e6, mm_count=1)
    result = simulate(table, s4)
    single, all_six = (result.counters["ddr_bytes"] / result.counters["ddr_bus_us"] / 1e3)[:2]
    assert single == pytest.approx(all_six)  # the bus itself is the same
    names = [result.bottleneck_names[b] for b in result.bottleneck]
    assert names == ["cluster_ddr", "ddr"]
    moved = result.counters["ddr_bytes"] / result.latency_us / 1e3  # GB/s
    assert moved[0] < s4.cluster_ddr_gbps < moved[1] < s4.ddr_gbps


def test_double_buffering_hides_the_shorter_side(s4: MluChip) -> None:
    result = simulate(staged(sram_buffers=[1, 2], nram_buffers=[1, 2]), s4)
    io, compute = result.counters["io_us"][0], result.counters["compute_us"][0]
    assert result.latency_us[1] < result.latency_us[0]
    assert result.latency_us[1] > s4.launch_us + max(io, compute)


@pytest.mark.parametrize(
    ("run", "align", "read", "write"),
    [
        (64, 64, 64, 64),
        (256, 64, 256, 256),
        (2, 64, 64, 128),  # efficiency of a short write: bytes / 128
        (32, 32, 64, 128),
        (96, 64, 128, 192),  # one whole line, one partial
        (64, 32, 96, 160),  # half of the offsets straddle two lines: 64 or 128; 64 or 256
        (0, 64, 0, 0),
    ],
)
def test_bus_bytes_of_runs(run: float, align: float, read: float, write: float) -> None:
    r, a = np.array([float(run)]), np.array([float(align)])
    assert bus_bytes_of_run(r, a, 64, write=False).tolist() == [read]
    assert bus_bytes_of_run(r, a, 64, write=True).tolist() == [write]


def test_short_runs_are_bound_by_issue(s4: MluChip) -> None:
    table = staged(a_gdram_sram_run_bytes=[65536.0, 256.0])
    result = simulate(table, s4)
    assert result.bottleneck_names[result.bottleneck[1]] == "io_issue"
    assert result.latency_us[1] > 2 * result.latency_us[0]


def test_a_table_of_another_backend_is_refused(s4: MluChip) -> None:
    with pytest.raises(ValueError, match="gpu_sm"):
        simulate(KernelTable("gpu_sm", 1), s4)
