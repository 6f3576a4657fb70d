"""The prior in the trial stage: it speaks until the gate can, and never prunes everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hwsim.backends import simulate
from hwsim.chips import load_chip
from hwsim.gpu_sm.gemm import clblast_gemm
from hwsim.table import KernelTable
from pruner.gate import Gate
from pruner.judgement import GATE, KEPT
from pruner.meta.prior import GraphPrior
from pruner.trial import TrialStage

from .meta_graphs import random_model

GPU: Any = load_chip("a100-sxm-40gb")
MODEL = random_model(slope=20.0, offset=-3.0)


def gemms(n: int) -> KernelTable:
    """``n`` kernels of different tiles."""
    rng = np.random.default_rng(0)
    tiles = rng.choice([32, 64, 128], size=(2, n))
    fixed = {"KWG": 16, "MDIMC": 8, "NDIMC": 8, "MDIMA": 8, "NDIMB": 8, "VWM": 1, "VWN": 1,
             "SA": 1, "SB": 1}  # fmt: skip
    columns = {name: np.full(n, value) for name, value in fixed.items()}
    return clblast_gemm({"MWG": tiles[0], "NWG": tiles[1], **columns}, 1024, 1024, 1024)


def stage(gate: Gate | None = None) -> TrialStage:
    return TrialStage([], gate, GPU, epsilon=0.0, graph_prior=GraphPrior(MODEL))


def names(n: int) -> list[str]:
    return [f"c{i}" for i in range(n)]


def test_before_any_measurement_the_best_offered_is_the_best() -> None:
    said = GraphPrior(MODEL).opine(np.array([1.0, 1.01, 3.0]))
    assert said.prune.tolist() == [False, False, True]
    assert said.probability[2] > 0.85 > said.probability[1]


def test_measurements_give_the_tasks_constant_and_the_current_best() -> None:
    prior = GraphPrior(MODEL)
    prior.observe(np.array([1.0, 2.0]), np.exp([4.0, 5.0]))  # three above the scores
    assert prior.shift == pytest.approx(3.0)
    said = prior.opine(np.array([1.0, 0.5, 2.0]))
    assert said.prune.tolist() == [False, False, True]
    np.testing.assert_allclose(said.predicted_us, np.exp([4.0, 3.5, 5.0]))
    assert said.cut_us == pytest.approx(np.exp(4.0) * 1.1)


def test_a_failure_is_no_best_and_moves_nothing() -> None:
    prior = GraphPrior(MODEL)
    prior.observe(np.array([1.0]), np.array([np.inf]))
    assert prior.shift == 0
    assert prior.opine(np.array([1.0, 9.0])).prune.tolist() == [False, True]


def test_the_best_scored_of_a_batch_and_what_has_no_score_pass() -> None:
    prior = GraphPrior(MODEL)
    prior.observe(np.array([0.0]), np.array([1.0]))
    said = prior.opine(np.array([5.0, np.nan, 6.0]))
    assert said.prune.tolist() == [False, False, True]
    assert np.isnan(said.probability[1])


def test_its_verdicts_name_version_and_hash_and_explain_themselves() -> None:
    judged = stage().judge(gemms(3), names(3), scores=np.array([1.0, 2.0, 1.0]))
    assert judged.code.tolist() == [KEPT, GATE, KEPT]
    verdict = judged.verdict(1)
    wanted = f"gnn-prior{{version=0.0.1,hash={MODEL.hash},threshold=0.85}}"
    assert verdict.rule == wanted
    assert (verdict.keep, verdict.stage) == (False, "trial")
    assert verdict.probability is not None
    assert verdict.probability > 0.85
    assert "worthless: probability" in verdict.reason
    assert judged.explain(1).chain[-1].rule == wanted
    assert judged.pruned_by() == {wanted: 1}


def test_the_gate_takes_over_when_it_is_ready() -> None:
    trial, table = stage(Gate()), gemms(64)
    latency = simulate(table, GPU).latency_us
    assert trial.graph_prior_asked
    trial.judge(table, names(64), scores=np.log(latency))
    trial.observe(table, names(64), latency)
    assert not trial.graph_prior_asked
    assert trial.graph_prior is not None
    assert trial.graph_prior.shift == pytest.approx(0.0)
    judged = trial.judge(table, names(64), scores=np.full(64, 1e3))
    assert judged.gate.startswith("lightgbm-gate")
    assert np.nanmax(judged.opinion.predicted_us) < 1e6


def test_without_scores_nothing_is_pruned() -> None:
    assert stage().judge(gemms(3), names(3)).keep.all()
