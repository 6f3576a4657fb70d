"""The shipped model on tasks that it has not seen."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from hwsim.chips import load_chip
from pruner.meta.model import shipped
from traces import Trial, read
from tuner.meta.cold_start import first_good
from tuner.meta.history import Task, task
from tuner.meta.tasks import held_out, training
from tuner.meta.transfer import transfer
from tuner.problem import Problem
from tuner.runs import RunSpec, execute
from tuner.workloads import resolve

UNSEEN = ("gemm:192x256x320", "ascend-910b2")


@cache
def unseen() -> Task:
    found = task(*UNSEEN, 0)
    assert found is not None
    return found


def test_what_is_held_out_shares_neither_chip_nor_workload_with_training() -> None:
    seen, held = training(), held_out()
    assert len(seen) >= 50
    assert not {w for w, _ in seen} & {w for w, _ in held}
    assert not {c for _, c in seen} & {c for _, c in held}
    assert shipped().header.tasks == [f"{w} @ {c}" for w, c in seen]


def test_the_history_holds_only_what_rules_let_pass_and_is_the_same_again() -> None:
    again = task(*UNSEEN, 0)
    assert again is not None
    np.testing.assert_array_equal(again.latency_us, unseen().latency_us)
    assert np.isfinite(unseen().latency_us).all()
    assert all(0 < part.drawn.sum() < len(part.drawn) for part in unseen().parts)


def test_the_shipped_model_knows_good_from_bad_on_an_unseen_task() -> None:
    (found,) = transfer(shipped(), [], [unseen()])
    assert 0 < found.positives < 0.5
    assert found.auc["gnn"] > 0.85
    assert set(found.auc) == {"gnn", "gate_on_history", "cold_gate", "lower_bound"}


def test_the_arm_meta_prunes_from_the_first_round_and_its_log_says_so(tmp_path: Path) -> None:
    problem = Problem.of(resolve(UNSEEN[0]), load_chip(UNSEEN[1]))
    log = tmp_path / "run.jsonl"
    execute(problem, RunSpec("meta", "evolutionary", 0, 48), log)
    trials = [r for r in read(log) if isinstance(r, Trial)]
    rules = [t.verdict["rule"] for t in trials if t.verdict and not t.verdict["keep"]]
    prior = [t.round for t in trials if t.verdict and t.verdict["rule"].startswith("gnn-prior")]
    assert shipped().hash in "".join(rules)
    assert min(prior) == 0
    gate = [t.round for t in trials if t.verdict and t.verdict["rule"].startswith("lightgbm")]
    assert not gate or max(prior) < min(gate)


@pytest.mark.slow
def test_first_good(tmp_path: Path) -> None:
    from pruner.meta.model import SHIPPED

    found = first_good(*UNSEEN, SHIPPED, [0], 48, tmp_path)
    assert set(found.virtual_s) == {"none", "two-stage", "meta"}
    assert all(0 < n <= 48 for n in found.trials.values())
    written = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*")}
    assert first_good(*UNSEEN, SHIPPED, [0], 48, tmp_path) == found
    assert written == {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*")}
