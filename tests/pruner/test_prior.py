"""A warm gate: early where earlier runs help, no different where they mislead."""

import numpy as np
import pytest

from pruner.features import FEATURE_NAMES
from pruner.gate import Gate
from pruner.prior import prior_of
from traces.store import Contents, Measured

LEAST = FEATURE_NAMES.index("least_us")


def sample(seed, n, least_us):
    x = np.random.default_rng(seed).uniform(0, 1, (n, len(FEATURE_NAMES))).astype(np.float32)
    x[:, LEAST] = least_us
    return x


def latency_us(x, sign=1.0):
    """Up to 20 times the bound, by two features."""
    return x[:, LEAST].astype(float) * np.exp(sign * (2 * x[:, 0] + x[:, 1] ** 2))


def entries(workload, x, us, chip="chip", backend="gpu_sm"):
    return [
        Measured(
            chip=chip, chip_hash=chip, backend=backend, workload=workload, workload_hash=workload,
            candidate=str(i), run="r", latency_us=None if np.isinf(u) else float(u),
            features=row.astype(float).tolist(),
        )
        for i, (row, u) in enumerate(zip(x, us, strict=True))
    ]  # fmt: skip


def earlier(sign=1.0):
    x = sample(1, 200, 3.0)
    return Contents(tuple(entries("other", x, latency_us(x, sign))))


def test_a_prior_is_of_the_same_chip_or_the_same_workload_on_that_backend():
    x = sample(0, 40, 3.0)
    us = latency_us(x)
    held = Contents(
        (*entries("other", x, us), *entries("own", x, us, "far"), *entries("other", x, us, "far"),
         *entries("other", x, us, "chip", "ascend_cube"))
    )  # fmt: skip
    prior = prior_of(held, "gpu_sm", "chip", "own")
    assert prior is not None
    assert (prior.tasks, len(prior.x)) == (2, 80)
    assert prior_of(held, "mlu_sram", "chip", "own") is None
    few = Contents(held.measured[:31])
    assert prior_of(few, "gpu_sm", "chip", "own") is None


def test_labels_are_relative_to_the_bound_and_failures_are_slower_than_all_that_ran():
    x = sample(0, 40, 3.0)
    us = np.append(latency_us(x)[:-1], np.inf)
    prior = prior_of(Contents(tuple(entries("other", x, us))), "gpu_sm", "chip", "own")
    ratio = np.sort(np.exp(prior.distance))
    assert ratio[:-1] == pytest.approx(np.sort(us[:-1]) / 3.0)
    assert ratio[-1] == pytest.approx(2 * ratio[-2])


def test_a_prior_that_explains_the_run_lets_the_gate_prune_after_half_the_measurements():
    x, fresh = sample(2, 16, 50.0), sample(3, 2000, 50.0)
    cold, warm = Gate(), Gate(prior=prior_of(earlier(), "gpu_sm", "chip", "own"))
    for gate in (cold, warm):
        gate.observe(x, latency_us(x))
    assert not cold.ready
    assert warm.ready
    assert warm.warm
    assert "prior=200" in str(warm)
    us, said = latency_us(fresh), warm.opine(fresh)
    assert said.prune[us > 2 * warm.best_us].mean() > 0.5
    assert not said.prune[us <= warm.best_us].any()


def test_a_prior_that_misleads_is_not_used():
    """Earlier runs say the opposite: the gate waits for as many measurements as a cold one."""
    x = sample(2, 64, 50.0)
    noise = np.random.default_rng(5).normal(0, 1.0, 200)
    wild = sample(1, 200, 3.0)
    held = Contents(tuple(entries("other", wild, 3.0 * np.exp(noise))))
    warm = Gate(prior=prior_of(held, "gpu_sm", "chip", "own"))
    warm.observe(x[:16], latency_us(x[:16]))
    assert not warm.ready
    warm.observe(x[16:], latency_us(x[16:]))
    cold = Gate()
    cold.observe(x[:16], latency_us(x[:16]))
    cold.observe(x[16:], latency_us(x[16:]))
    assert warm.ready
    assert not warm.warm
    fresh = sample(3, 500, 50.0)
    assert warm.opine(fresh).prune.tolist() == cold.opine(fresh).prune.tolist()


def test_a_prior_that_outcomes_contradict_is_dropped_before_the_gate_opens():
    gate = Gate(prior=prior_of(earlier(), "gpu_sm", "chip", "own"))
    x, more = sample(2, 16, 50.0), sample(4, 64, 50.0)
    gate.observe(x, latency_us(x))
    assert gate.warm
    surprises = gate.best_us * np.linspace(0.9, 0.5, 8)  # each better than what was promised
    for row, us in zip(more[:8], surprises, strict=True):
        gate.observe(row[None], [us], [0.95])
    assert not gate.warm
    assert not gate.ready  # 24 measurements, and a cold gate needs 32
    assert not gate.open
    gate.observe(more[8:], latency_us(more[8:]))
    assert gate.ready
    assert not gate.warm
