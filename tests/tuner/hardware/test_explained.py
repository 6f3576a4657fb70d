"""Explaining a run on a real chip, which nobody can simulate."""

import json
from pathlib import Path

import pytest

from tuner.cli.app import run

TUNE = "tune --chip local-cpu --workload gemm:32x32x32:float32 --backend local --strategy random"


def test_a_candidate_of_a_real_chip_is_explained_with_what_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--trials", "2", "--batch", "2", "--repeats", "1"]
    assert run([*TUNE.split(), *small, "--out", str(tmp_path)]) == 0
    (log,) = (tmp_path / "runs").glob("*.jsonl")
    capsys.readouterr()
    trials = [r for r in map(json.loads, log.open()) if r["record"] == "trial"]
    measured = next(trial["index"] for trial in trials if trial["measurement"])
    assert run(["explain", str(log), str(measured)]) == 0
    said = capsys.readouterr().out
    assert "vector-fill" in said
    assert "\nmeasured: " in said
