"""What uses oracles: the command that measures them, benchmarks on their spaces, logs of these."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pruner.rulesets import rule_set
from tuner.bench.group import run_group
from tuner.bench.plan import Plan
from tuner.cli.app import run
from tuner.logged import logged
from tuner.oracle import catalogue, load
from tuner.runs import task_stage


def test_a_benchmark_on_a_space_is_exact(tmp_path: Path) -> None:
    plan = Plan(chips=(), workloads=(), spaces=("mlu-bmm",), arms=("none", "two-stage"),
                strategies=("grid",), seeds=1, trials=8, batch=8)  # fmt: skip
    (group,) = plan.groups()
    (tmp_path / "runs").mkdir()
    result = run_group(plan, group, tmp_path, False, lambda *state: None, lambda: False)
    oracle = load(catalogue()["mlu-bmm"])
    best: dict[str, float] = {}
    for cell in result.cells:
        assert (cell["reference"], cell["space"]) == ("oracle", "mlu-bmm")
        assert cell["reference_candidates"] == cell["space_size"] == len(oracle)
        assert cell["reference_optimum_us"] == float(f"{oracle.optimum_us:.6g}")
        best[cell["arm"]] = cell["best_us"]["median"]
        assert cell["run_regret"]["median"] == pytest.approx(
            best[cell["arm"]] / oracle.optimum_us - 1, rel=1e-4
        )
    kept = task_stage(oracle.problem, rule_set("default"))
    validity = oracle.node_validity()
    invalid = sum(int((~v).sum()) for values in validity for v in values.values())
    gone = sum(
        int((~values[name] & ~result.allowed[name]).sum())
        for values, result in zip(validity, kept, strict=True)
        for name in values
        if name in result.allowed
    )
    cell = result.cells[1]
    assert cell["invalid_nodes"]["median"] == invalid
    assert cell["node_prune_rate"]["median"] == pytest.approx(gone / max(1, invalid), rel=1e-4)
    (log,) = (tmp_path / "runs").glob("*two-stage*")
    assert log.name.startswith("mlu370-s4__mlu-bmm__two-stage__grid")
    brought_back = logged(log, "0")
    assert brought_back.problem.size == len(oracle)
    assert oracle.index_of(brought_back.pool)[0] >= 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bench", "--space", "mlu-con"), "space 'mlu-con': unknown; did you mean mlu-conv?"),
        (("bench", "--space", "mlu-conv", "--chip", "t4"), "expected no --chip"),
        (("bench", "--space", "gpu-bmm", "--arms", "tvm"), "not the restricted gpu-bmm"),
        (("oracle", "--space", "nothing-like-it"), "prunelab oracle lists them"),
        (("oracle", "--chip", "t4"), "expected --space NAME, or --chip with --workload"),
        (("oracle", "--chip", "t4", "--workload", "gemm:1024x1024x1024"), "a recipe can restrict"),
    ],
)
def test_wrong_arguments(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    assert run([*arguments, "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert said in printed.err
    assert not (tmp_path / "out").exists()


def test_the_catalogue_is_listed_with_what_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["oracle", "--format", "json", "--out", "nowhere"]) == 0
    rows = {row["space"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == set(catalogue())
    assert rows["mlu-conv"]["state"] == "shipped"
    assert rows["ascend-gemm"]["state"] == "-"


def test_a_space_is_measured_and_summed_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ["oracle", "--space", "gpu-softmax", "--format", "json", "--out", str(tmp_path)]
    assert run(arguments) == 0
    first = capsys.readouterr().out
    (row,) = json.loads(first)
    oracle = load(catalogue()["gpu-softmax"], tmp_path)
    assert row["optimum_us"] == float(f"{oracle.optimum_us:.9g}")
    assert row["within_5_percent"] == int((oracle.latency_us <= oracle.optimum_us * 1.05).sum())
    sketch, decisions = oracle.pool_of(np.array([oracle.best])).locate(0)
    assert row["best_candidate"] == oracle.problem.sketches[sketch].hash(decisions)
    assert run(arguments) == 0
    assert capsys.readouterr().out == first
