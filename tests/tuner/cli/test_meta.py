"""``prunelab meta`` on the command line."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tuner.cli.app import run

TASK = ("--chip", "mlu370-m8", "--workload", "softmax:64x128")


def test_pretraining_without_the_extra_says_what_to_install(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.cli.meta.find_spec", lambda name: None)
    assert run(["meta", "pretrain", "--out", str(tmp_path / "m.npz")]) == 2
    error = capsys.readouterr().err
    assert error == ("error: pre-training needs the extra meta: pip install 'prunelab[meta]'\n")


def test_evaluate_gives_an_auc_a_task_and_a_median(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["meta", "evaluate", *TASK, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (task,) = found["tasks"]
    assert task["task"] == "softmax:64x128 @ mlu370-m8"
    assert set(task["auc"]) == set(task["auc_drawn"]) == set(found["median_auc"])
    assert 0.5 < task["auc"]["gnn"] <= 1
    assert found["median_auc"]["gnn"] == task["auc"]["gnn"]


def test_a_task_of_the_training_is_pointed_out(capsys: pytest.CaptureFixture[str]) -> None:
    seen = ("--chip", "mlu370-x4", "--workload", "bert-base.s512.layer_norm")
    assert run(["meta", "evaluate", *seen]) == 0
    said = capsys.readouterr()
    assert "the model was trained on bert-base.s512.layer_norm @ mlu370-x4" in said.err
    assert "median" in said.out


@pytest.mark.parametrize("command", ["meta evaluate", "meta first-good", "tune", "bench"])
def test_what_is_no_model_is_one_line(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "m.npz").write_text("no")
    assert run([*command.split(), "--meta", str(tmp_path / "m.npz"), *TASK]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "not a usable model" in error


@pytest.mark.skipif(find_spec("torch_geometric") is None, reason="training needs the extra meta")
def test_pretrain_writes_a_model_that_says_how_it_was_made(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from pruner.meta.model import load

    out = tmp_path / "m.npz"
    assert run(["meta", "pretrain", *TASK, "--steps", "3", "--out", str(out)]) == 0
    header = load(out).header
    assert header.tasks == ["softmax:64x128 @ mlu370-m8"]
    assert header.made_with == (
        "prunelab meta pretrain --chip mlu370-m8 --workload softmax:64x128 --steps 3 --seed 0"
    )
    assert "1 tasks" in capsys.readouterr().out
