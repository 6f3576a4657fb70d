"""The gate: no data no pruning, learns a rule, keeps what is good, opens when contradicted."""

from __future__ import annotations

import numpy as np
import pytest

from pruner.calibration import fit_platt, reliability
from pruner.drift import Drift
from pruner.features import FEATURE_NAMES
from pruner.forest import predict
from pruner.gate import Gate, GateOptions, _margin

N_FEATURES = 38


def sample(rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.uniform(0, 1, (n, N_FEATURES)).astype(np.float32)
    x[:, FEATURE_NAMES.index("least_us")] = 10.0  # the bound says nothing here
    return x


def latency_us(x: np.ndarray, sign: float = 1.0) -> np.ndarray:
    """A smooth function of two features, from about 100 us to about 2 ms."""
    return np.asarray(100 * np.exp(sign * (2 * x[:, 0] + x[:, 1] ** 2)))


def trained(n: int = 128, seed: int = 0) -> tuple[Gate, np.random.Generator]:
    rng = np.random.default_rng(seed)
    gate, x = Gate(seed=seed), sample(rng, n)
    gate.observe(x, latency_us(x))
    return gate, rng


def test_no_data_no_pruning() -> None:
    gate, rng = Gate(), np.random.default_rng(0)
    x = sample(rng, 31)
    gate.observe(x, latency_us(x))
    assert not gate.ready
    with pytest.raises(ValueError, match="31 samples, it needs 32"):
        gate.opine(x)
    gate.observe(x[:1], latency_us(x[:1]))
    assert gate.ready


def test_failures_alone_are_no_data() -> None:
    gate, rng = Gate(), np.random.default_rng(0)
    gate.observe(sample(rng, 200), np.full(200, np.inf))
    assert not gate.ready
    assert gate.penalty_us == float("inf")


def test_learns_what_is_slow_and_keeps_what_is_fast() -> None:
    gate, rng = trained()
    x = sample(rng, 4000)
    us, said = latency_us(x), gate.opine(x)
    near = us <= us.min() * 1.05
    assert said.prune[us > 2 * gate.best_us].mean() > 0.8
    assert said.prune[near].sum() <= max(1, 0.01 * near.sum())
    order = np.argsort(said.probability)
    assert us[order[:400]].mean() < us[order[-400:]].mean() / 3


def test_it_prunes_only_what_the_forest_of_every_fold_predicts_beyond_the_cut() -> None:
    gate, rng = trained()
    x = sample(rng, 2000)
    said, booster = gate.opine(x), gate.booster
    assert gate._folds is not None
    assert booster is not None
    lowest = np.exp(gate._folds.lowest(x)) * 10.0  # the bound
    alone = (said.probability > gate.threshold_now) & (
        np.exp(predict(booster, x)) * 10 > said.cut_us
    )
    assert (alone & ~said.prune).any()
    assert not (said.prune & ~alone).any()
    assert np.array_equal(said.prune[alone], lowest[alone] > said.cut_us)
    assert (said.predicted_us[alone] <= lowest[alone] * (1 + 1e-12)).all()


def test_alone_a_candidate_is_told_the_same_to_the_last_bit() -> None:
    gate, rng = trained()
    x = sample(rng, 200)
    together = gate.opine(x)
    assert 10 < together.prune.sum() < 190
    for i in range(200):
        alone = gate.opine(x[i : i + 1])
        assert alone.predicted_us[0] == together.predicted_us[i]
        assert alone.prune[0] == together.prune[i]


def test_the_allowance_for_errors_shrinks_with_measurements() -> None:
    log, error = np.linspace(0, 1, 64), np.full(64, 0.1)
    few, many = _margin(error, log, 0.99), _margin(np.tile(error, 16), np.tile(log, 16), 0.99)
    assert few == pytest.approx(np.log(1.05) + 0.2)
    assert many == pytest.approx(np.log(1.05) + 0.1 * (1 + 16 / 256))
    assert _margin(-error, log, 0.99) == pytest.approx(np.log(1.05))
    assert _margin(error, log, 0.0) == 0.0


def test_failures_are_learnt_as_worthless() -> None:
    rng = np.random.default_rng(1)
    x = sample(rng, 160)
    fails = x[:, 5] > 0.6
    gate = Gate()
    gate.observe(x, np.where(fails, np.inf, latency_us(x)))
    new = sample(rng, 2000)
    said = gate.opine(new)
    assert said.prune[new[:, 5] > 0.65].mean() > 0.95
    assert np.isfinite(gate.penalty_us)
    assert gate.penalty_us == latency_us(x)[~fails].max()


def test_labels_follow_the_best() -> None:
    """The same candidates are likelier worthless once a better one is known."""
    gate, rng = trained()
    x = sample(rng, 500)
    before = gate.opine(x).probability.mean()
    best = sample(rng, 1)
    gate.observe(best, [gate.best_us / 2])
    assert gate.opine(x).probability.mean() > before


def test_same_seed_same_gate() -> None:
    x = sample(np.random.default_rng(9), 100)
    one, two = (trained(seed=3)[0].opine(x) for _ in range(2))
    assert np.array_equal(one.probability, two.probability)
    assert one.cut_us == two.cut_us


def test_held_out_calibration_is_reported() -> None:
    gate, _ = trained(200)
    assert gate.held_out.n == 200
    assert gate.held_out.error < 0.1
    assert sum(b.n for b in gate.held_out.bins) == 200


def test_opens_when_promises_are_broken_and_closes_when_they_hold_again() -> None:
    gate, rng = trained()
    x = sample(rng, 32)
    promised = np.full(32, 0.9)
    gate.observe(x, np.full(32, gate.best_us / 2), promised)  # all of it was better
    assert gate.open
    assert not gate.opine(sample(rng, 500)).prune.any()
    for _ in range(3):
        x = sample(rng, 16)
        gate.observe(x, np.full(16, 10 * gate.best_us), np.full(16, 0.9))
    assert not gate.open


def test_stays_shut_while_promises_hold() -> None:
    """Calibrated promises: one in ten of 'worthless at 0.9' turning out better is no drift."""
    drift, rng = Drift(), np.random.default_rng(0)
    for _ in range(40):
        p = rng.uniform(0.5, 0.99, 8)
        drift.compare(p, rng.random(8) < p)
        assert not drift.detected
    assert drift.reliability().n == 320
    assert drift.reliability().error < 0.08


def test_platt_recovers_a_known_probability() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(0, 1, 2000)
    held = true + rng.normal(0, 0.3, 2000)
    platt = fit_platt(held, true, references=200)
    best = float(np.sort(true)[100])
    said = platt.probability(held, best)
    assert reliability(said, true > best).error < 0.05
    assert platt.probability(np.array([best - 3.0]), best)[0] < 0.1
    assert platt.probability(np.array([best + 3.0]), best)[0] > 0.9


def test_probability_grows_with_predicted_latency() -> None:
    rng = np.random.default_rng(0)
    platt = fit_platt(rng.normal(size=64), rng.normal(size=64))  # no signal at all
    said = platt.probability(np.linspace(-3, 3, 50), 0.0)
    assert (np.diff(said) >= 0).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": 0.0}, "threshold 0.0: expected above 0"),
        ({"threshold": 1.5}, "threshold 1.5"),
        ({"caution": -0.1}, "caution -0.1: expected a share"),
        ({"min_samples": 3}, "min_samples 3: expected at least 16"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        GateOptions(**options)  # type: ignore[arg-type]


def test_calibration_of_separable_predictions_does_not_diverge() -> None:
    """The better of two predictions is more likely worthless only where it is the slower one."""
    true = np.random.default_rng(2).uniform(0, 2, 16)
    held = true + np.random.default_rng(3).normal(0, 0.02, 16)
    platt = fit_platt(held, true)
    assert platt.slope > 0
    p = platt.probability(np.array([true.min() - 0.5, true.max()]), float(true.min()))
    assert p[0] < 0.5 < 0.95 < p[1]


def test_a_single_candidate_gets_the_same_opinion_as_in_a_batch() -> None:
    gate, rng = trained()
    x = sample(rng, 200)
    together = gate.opine(x)
    assert 0 < together.prune.sum() < 200
    for i in range(200):
        alone = gate.opine(x[i : i + 1])
        assert alone.probability[0] == together.probability[i]
        assert alone.predicted_us[0] == together.predicted_us[i]
        assert (alone.cut_us, alone.prune[0]) == (together.cut_us, together.prune[i])
