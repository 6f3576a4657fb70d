"""Noise is a function of seed and candidate; the farm's clock is its queues."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwsim.chips import chip_hash, load_chip
from hwsim.farm import Farm, trial_seconds, with_farm
from hwsim.noise import measure
from hwsim.result import Failure

CHIP = load_chip("ascend-910b1")


def test_a_candidate_reads_the_same_in_any_order_and_batch() -> None:
    names = [f"candidate-{i}" for i in range(50)]
    latency = np.linspace(10, 1000, 50)
    whole = measure(latency, names, 3, 7, CHIP.noise)
    order = np.random.default_rng(0).permutation(50)
    again = measure(latency[order], [names[i] for i in order], 3, 7, CHIP.noise)
    assert np.array_equal(whole[order], again)
    assert not np.array_equal(whole, measure(latency, names, 3, 8, CHIP.noise))


def test_the_spread_and_the_outliers_are_those_of_the_chip() -> None:
    keys = np.arange(40_000, dtype=np.uint64)
    noise = msgspec.structs.replace(CHIP.noise, sigma=0.02, outlier_probability=0.05)
    read = measure(np.full(40_000, 100.0), keys, 2, 1, noise)
    slow = read > 100 * (1 + noise.outlier_factor) / 2
    assert slow.mean() == pytest.approx(0.05, abs=0.005)
    assert np.log(read[~slow] / 100).std() == pytest.approx(0.02, rel=0.05)
    assert abs(np.log(read[~slow] / 100).mean()) < 0.001


def test_no_noise_reads_the_truth_and_a_failure_stays_infinite() -> None:
    quiet = msgspec.structs.replace(CHIP.noise, sigma=0.0, outlier_probability=0.0)
    read = measure(np.array([5.0, np.inf]), ["a", "b"], 2, 0, quiet)
    assert read.tolist() == [[5.0, 5.0], [np.inf, np.inf]]
    with pytest.raises(ValueError, match="repeats is 0"):
        measure(np.array([5.0]), ["a"], 0, 0, quiet)


def test_what_each_failure_costs() -> None:
    bench = CHIP.bench
    failure = np.array([Failure.ok, Failure.compile_error, Failure.launch_error, Failure.timeout])
    latency = np.array([1e3, np.inf, np.inf, np.inf])
    compile_s, run_s = trial_seconds(latency, np.array([0, 0, 0, 100]), failure, 3, bench)
    setup = bench.upload_s + bench.run_overhead_s
    assert compile_s.tolist() == [4.0, 4.0, 4.0, 4.2]
    assert run_s == pytest.approx(
        [setup + 3 * bench.min_run_s + 1e-3, 0, setup, setup + bench.timeout_s]
    )


SECONDS = st.floats(0.1, 9)
TRIALS = st.lists(st.tuples(SECONDS, st.just(0.0) | SECONDS), max_size=30)


def batch_s(trials: list[tuple[float, float]], compile_workers: int, boards: int) -> float:
    bench = msgspec.structs.replace(CHIP.bench, compile_workers=compile_workers, boards=boards)
    return Farm(bench).batch_seconds([c for c, _ in trials], [r for _, r in trials])


@given(TRIALS)
def test_one_worker_and_one_board_do_one_thing_after_the_other(
    trials: list[tuple[float, float]],
) -> None:
    assert batch_s(trials, 1, 1) == pytest.approx(sum(c + r for c, r in trials))


@given(TRIALS, st.integers(1, 8), st.integers(1, 4))
def test_a_batch_takes_no_less_than_its_work_and_no_longer_on_a_bigger_farm(
    trials: list[tuple[float, float]], workers: int, boards: int
) -> None:
    took = batch_s(trials, workers, boards)
    stages = [([c for c, _ in trials], workers), ([r for _, r in trials], boards)]
    least = sum(max(sum(s) / machines, max(s, default=0)) for s, machines in stages)
    most = sum(sum(s) / machines + max(s, default=0) for s, machines in stages)
    assert least - 1e-9 <= took <= most + 1e-9
    assert batch_s(trials, workers + 1, boards) <= took
    assert batch_s(trials, workers, boards + 1) <= took


def test_boards_get_a_batch_when_all_of_it_is_compiled() -> None:
    assert batch_s([(1, 5), (1, 5), (1, 0)], 2, 1) == 2 + 10
    assert batch_s([(3, 1), (1, 5), (1, 5), (1, 1)], 2, 2) == 3 + 6  # by hand: 1 5 | 5 1
    assert batch_s([], 2, 1) == 0.0


def test_a_time_out_holds_its_worker_or_board_until_it_ends() -> None:
    bench = msgspec.structs.replace(CHIP.bench, compile_timeout_s=5.0, compile_workers=1, boards=1)
    failure = np.array([Failure.compile_error, Failure.timeout, Failure.ok])
    compile_s, run_s = trial_seconds(
        np.array([np.inf, np.inf, 10.0]), np.array([10_000, 0, 0]), failure, 1, bench
    )
    setup_s = bench.upload_s + bench.run_overhead_s
    assert compile_s.tolist() == [5.0, 4.0, 4.0]
    assert run_s.tolist() == pytest.approx([0, setup_s + 10, setup_s + 0.1 + 1e-5])
    assert Farm(bench).batch_seconds(compile_s, run_s) == pytest.approx(13 + run_s.sum())


def test_a_larger_farm_is_another_chip_and_never_slower() -> None:
    chip = load_chip("ascend-910b1")
    small, large = with_farm(chip, boards=1, compile_workers=2), with_farm(chip, 4, 16)
    compile_s, run_s = np.full(32, 3.0), np.full(32, 0.5)
    took = [Farm(c.bench).batch_seconds(compile_s, run_s) for c in (small, large)]
    assert took[0] == pytest.approx(16 * 3 + 32 * 0.5)
    assert took[1] == pytest.approx(2 * 3 + 8 * 0.5)
    assert with_farm(chip) == chip
    assert chip_hash(large) != chip_hash(chip)
