"""The discrete-event model: against the analytical one, against itself cut short, its timeline."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from scipy.stats import spearmanr

from hwsim.ascend_cube.analytical import simulate
from hwsim.ascend_cube.des import EXTRAPOLATION_BOUND, simulate_one
from hwsim.ascend_cube.tiles import matmul_table
from hwsim.ascend_cube.tiling import MatmulTiling
from hwsim.result import Failure
from hwsim.table import KernelTable

from .ascend_kernels import chip_of, random_valid

B1 = chip_of("ascend-910b1")
TILING = MatmulTiling(4, 4, 128, 128, 64, step_ka=2, step_kb=2, depth_a1=4, depth_b1=4)


@pytest.mark.parametrize("name", ["ascend-910b1", "ascend-910b4"])
def test_both_models_agree_on_random_kernels(name: str) -> None:
    chip = chip_of(name)
    table = random_valid(200, 11, chip)
    events = np.array([simulate_one(table, i, chip).latency_us for i in range(len(table))])
    formula = simulate(table, chip).latency_us
    assert spearmanr(events, formula)[0] >= 0.98
    fixed = chip.launch_us + chip.core_start_us  # the same on both sides: leave it out
    difference = np.abs((formula - fixed) / np.maximum(events - fixed, 1e-9) - 1)
    assert np.median(difference) <= 0.05
    assert np.percentile(difference, 90) <= 0.25


def test_long_kernels_are_continued_within_the_bound() -> None:
    table = random_valid(120, 5, B1)
    work = table["mm_count"] + table["c_ub_gm_count"]
    rows = [int(i) for i in np.flatnonzero((work > 200) & (work < 4000))]
    cut = [simulate_one(table, i, B1, full_steps=100) for i in rows]
    full = [simulate_one(table, i, B1, full_steps=10**9) for i in rows]
    assert sum(c.extrapolated for c in cut) >= 10
    for short, long in zip(cut, full, strict=True):
        assert short.latency_us == pytest.approx(long.latency_us, rel=EXTRAPOLATION_BOUND)
        assert long.error_bound == 0


def test_pipes_are_busy_no_longer_than_the_block_and_spans_do_not_overlap() -> None:
    table = matmul_table(1024, 1024, 1024, "float16", TILING)
    result = simulate_one(table, 0, B1, timeline=True)
    block_us = result.latency_us - B1.launch_us - B1.core_start_us
    assert all(0 < busy <= block_us * (1 + 1e-9) for busy in result.busy_us.values())
    for pipe, busy in result.busy_us.items():
        spans = sorted((s, e) for unit, _, s, e in result.timeline if unit == pipe)
        assert sum(e - s for s, e in spans) == pytest.approx(busy)
        ends, starts = [e for _, e in spans[:-1]], [s for s, _ in spans[1:]]
        assert all(end <= start + 1e-9 for end, start in zip(ends, starts, strict=True))


def test_no_more_slots_are_in_use_than_there_are() -> None:
    table = matmul_table(1024, 1024, 1024, "float16", TILING)
    levels = simulate_one(table, 0, B1, timeline=True).levels
    assert {name for name, _, _ in levels} == {"a_gm_l1", "b_gm_l1", "a_l1_l0a", "b_l1_l0b"}
    assert all(0 <= used <= 2 for _, _, used in levels)
    assert max(used for _, _, used in levels) == 2


def test_busy_times_are_the_analytical_ones_where_nothing_is_shared() -> None:
    table = matmul_table(1024, 1024, 1024, "float16", TILING)
    events, counters = simulate_one(table, 0, B1).busy_us, simulate(table, B1).counters
    for pipe in ("mte1", "mte2", "fix"):
        assert events[pipe] == pytest.approx(counters[f"{pipe}_us"][0], rel=0.02)


def test_a_kernel_with_an_epilogue_runs_both_cores_together() -> None:
    args = (2048, 2048, 1024, "int8", TILING)
    plain = simulate_one(matmul_table(*args, out_dtype="int32"), 0, B1)
    fused = matmul_table(*args, out_dtype="int32", dequant_to="float16")
    both = simulate_one(fused, 0, B1)
    vector = both.busy_us["vec"]
    assert vector > 0
    assert plain.latency_us < both.latency_us < plain.latency_us + 3 * vector


def test_failures_are_those_of_the_analytical_model() -> None:
    table = matmul_table(1024, 1024, 1024, "float16", MatmulTiling(4, 4, 512, 128, 64))
    assert simulate_one(table, 0, B1).failure == Failure.compile_error
    hurried = msgspec.structs.replace(B1, bench=msgspec.structs.replace(B1.bench, timeout_s=1e-6))
    valid = matmul_table(1024, 1024, 1024, "float16", TILING)
    assert simulate_one(valid, 0, hurried).failure == Failure.timeout


def test_sizes_without_end_are_given_up_not_simulated() -> None:
    big = 2**62
    table = KernelTable.of(
        "ascend_cube", blocks=[0, 1, big], mm_count=[0, big, 1], mm_m=[0, big, 16],
        mm_n=[0, big, 16], mm_k=[0, big, 16], in_bits=16, a_gm_l1_count=[0, big, 1],
        a_gm_l1_bytes=[0, 1e308, 1.0], out_tiles=[0, 1, big],
    )  # fmt: skip
    failures = [simulate_one(table, row, B1).failure for row in range(3)]
    assert failures == [Failure.ok, Failure.timeout, Failure.timeout]
