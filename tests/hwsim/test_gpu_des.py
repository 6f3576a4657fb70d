"""The discrete-event model against the analytical one, against itself, and in its parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import spearmanr

from hwsim.chips import load_chip
from hwsim.event_result import DesResult
from hwsim.gpu_sm.analytical import simulate
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.des import EXTRAPOLATION_BOUND, simulate_one
from hwsim.gpu_sm.library import library_gemm
from hwsim.gpu_sm.rowwise import rowwise
from hwsim.result import Failure
from hwsim.table import KernelTable

from .gpu_kernels import random_kernels


def chip(name: str = "a100-sxm-40gb") -> GpuChip:
    found = load_chip(name)
    assert isinstance(found, GpuChip)
    return found


@pytest.mark.parametrize("name", ["a100-sxm-40gb", "rtx-2080-ti", "h100-sxm"])
def test_agrees_with_the_analytical_model(name: str) -> None:
    table = random_kernels(50, seed=1)
    formula = simulate(table, chip(name))
    rows = np.flatnonzero(formula.failure == Failure.ok)
    assert len(rows) >= 150
    events = np.array([simulate_one(table, int(row), chip(name)).latency_us for row in rows])
    ratio = events / formula.latency_us[rows]
    assert spearmanr(events, formula.latency_us[rows])[0] >= 0.95
    assert np.median(np.abs(ratio - 1)) <= 0.15


def test_shortening_stays_within_its_bound() -> None:
    table = random_kernels(12, seed=2)
    errors = []
    for row in range(table.n):
        short = simulate_one(table, row, chip(), full_steps=500)
        if short.extrapolated:
            whole = simulate_one(table, row, chip(), full_steps=10**9)
            assert not whole.extrapolated
            errors.append(abs(short.latency_us / whole.latency_us - 1))
    assert len(errors) >= 20
    assert max(errors) <= EXTRAPOLATION_BOUND


def gemm(size: int) -> KernelTable:
    return library_gemm(size, size, size, 128, 128, 256)


def test_the_timeline_holds_what_was_simulated() -> None:
    found = simulate_one(gemm(512), 0, chip(), timeline=True)
    assert {unit for unit, *_ in found.timeline} == {
        "pipe0",
        "pipe1",
        "pipe2",
        "pipe3",
        "lsu",
        "l2",
    }
    assert all(0 <= start < end <= found.latency_us for _, _, start, end in found.timeline)
    for unit in ("lsu", "pipe0"):
        spans = sorted(span[2:] for span in found.timeline if span[0] == unit)
        assert all(a[1] <= b[0] + 1e-9 for a, b in pairwise(spans))
    assert max(value for _, _, value in found.levels) == 1
    assert found.levels[-1][2] == 0


def test_equal_rows_give_equal_answers() -> None:
    assert simulate_one(gemm(1024), 0, chip(), timeline=True) == simulate_one(
        gemm(1024), 0, chip(), timeline=True
    )


def test_more_blocks_than_fit_take_turns() -> None:
    few, many = (rowwise(108 * 16 * k, 1024, 128, thread_ops=1000) for k in (1, 3))
    one, three = (simulate_one(t, 0, chip()).latency_us for t in (few, many))
    assert 2 < three / one < 3.2


def test_failures_are_those_of_the_limits() -> None:
    table = KernelTable.of("gpu_sm", threads=[2048, 32], shared_bytes=[0.0, 1e6])
    answers = [simulate_one(table, row, chip()) for row in range(2)]
    assert [a.failure for a in answers] == [Failure.launch_error, Failure.compile_error]
    assert answers[0] == DesResult(np.inf, Failure.launch_error)


def test_what_runs_too_long_times_out() -> None:
    slow = KernelTable.of("gpu_sm", blocks=10**6, threads=32, macs=1e18)
    assert simulate_one(slow, 0, chip()).failure == Failure.timeout
    assert simulate(slow, chip()).failure[0] == Failure.timeout
