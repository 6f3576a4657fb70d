"""Cost models: one protocol, deterministic, and better than chance where there is something to
learn.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from hwsim.backends import simulate
from hwsim.chips import load_chip
from hwsim.outcome import latencies_us
from hwsim.table import KernelTable
from tuner.bench.model_quality import pairwise_accuracy, peak_at
from tuner.models import DEFAULT_MODEL, MODELS
from tuner.problem import Problem
from tuner.search import Pool
from tuner.workloads import resolve

CHIP = "ascend-910b1"


@cache
def measured(n: int, seed: int) -> tuple[KernelTable, np.ndarray]:
    """Random candidates of a GEMM and their noise-free latencies."""
    problem = Problem.of(resolve("gemm:512x512x512:float16"), load_chip(CHIP))
    rng = np.random.default_rng(seed)
    table = problem.kernels(Pool(tuple(s.sample(rng, n) for s in problem.sketches)))
    return table, latencies_us(table, simulate(table, problem.chip))


def accuracy(name: str, seed: int = 0) -> float:
    model = MODELS[name](load_chip(CHIP), seed, False)
    model.update(*measured(60, 0))
    table, latency = measured(60, 1)
    return pairwise_accuracy(model.predict(table), latency, np.zeros(len(latency), np.int64))


def test_the_default_is_there() -> None:
    assert DEFAULT_MODEL in MODELS


@pytest.mark.parametrize("name", ["mixed", "lightgbm", "mlp"])
def test_a_learned_model_orders_what_it_has_not_seen(name: str) -> None:
    assert accuracy(name) > 0.8


def test_chance_and_truth_are_the_ends_of_the_scale() -> None:
    assert 0.4 < accuracy("random") < 0.6
    assert accuracy("oracle") == 1.0


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_same_seed_predicts_the_same(name: str) -> None:
    def predictions(seed: int) -> np.ndarray:
        model = MODELS[name](load_chip(CHIP), seed, False)
        model.update(*measured(20, 0))
        return model.predict(measured(60, 1)[0])

    assert (predictions(3) == predictions(3)).all()


@pytest.mark.parametrize("name", ["mixed", "lightgbm", "mlp"])
def test_no_learned_model_speaks_before_it_has_seen_enough_that_works(name: str) -> None:
    model = MODELS[name](load_chip(CHIP), 0, False)
    table, latency = measured(60, 0)
    model.update(table.take_candidates(range(8)), latency[:8])
    assert not model.ready
    with pytest.raises(RuntimeError, match="not been trained"):
        model.predict(table)
    model.update(table.take_candidates(range(8)), np.full(8, np.inf))
    assert model.ready
    failed = model.predict(table.take_candidates(range(8)))
    assert np.isfinite(failed).all()


@pytest.mark.parametrize("name", ["mixed", "lightgbm", "mlp"])
def test_only_failures_teach_nothing(name: str) -> None:
    model = MODELS[name](load_chip(CHIP), 0, False)
    table, latency = measured(60, 0)
    model.update(table, np.full(len(latency), np.inf))
    assert not model.ready


@pytest.mark.parametrize("name", ["mixed", "lightgbm", "mlp"])
def test_candidates_that_are_all_alike_are_predicted_to_stay_so(name: str) -> None:
    model = MODELS[name](load_chip(CHIP), 0, False)
    alike = measured(60, 0)[0].take_candidates([0])
    table = KernelTable.concat([alike] * 20)
    model.update(table, np.full(20, 7.0))
    assert model.predict(alike) == pytest.approx(np.log(7.0))


def test_pairs_are_counted_within_a_batch_and_equal_predictions_half() -> None:
    batch = np.array([0, 0, 0, 1, 1])
    measured_us = np.array([1.0, 2.0, 2.0, 5.0, np.inf])
    predicted = np.array([1.0, 3.0, 1.0, 9.0, 8.0])
    # pairs: (0,1) right, (0,2) tie, (3,4) wrong; 1 and 2 are equally fast
    assert pairwise_accuracy(predicted, measured_us, batch) == 1.5 / 3
    assert np.isnan(pairwise_accuracy(predicted[:1], measured_us[:1], batch[:1]))


def test_peak_is_what_the_predicted_best_reach_of_the_best() -> None:
    measured_us, predicted = np.array([4.0, 2.0, 8.0, 1.0]), np.array([1.0, 2.0, 3.0, 4.0])
    assert peak_at(1, predicted, measured_us) == 1 / 4
    assert peak_at(2, predicted, measured_us) == 1 / 2
    assert peak_at(5, predicted, measured_us) == 1
    assert peak_at(1, predicted, np.array([np.inf, 2.0, 3.0, 4.0])) == 0
    assert np.isnan(peak_at(1, predicted, np.full(4, np.inf)))
