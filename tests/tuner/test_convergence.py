"""Runs that end within 1 % of the optimum of a space that is known whole."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tuner.bench.cells import pool_of, truth_in_order
from tuner.bench.convergence import Line, main, table
from tuner.bench.history import load as history_of
from tuner.bench.metrics import Judged
from tuner.bench.reached import Reached, reach
from tuner.measure import Memory
from tuner.oracle import Oracle, catalogue, load
from tuner.runs import RunSpec, Shared, execute

SPACE = "gpu-layernorm"


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return load(catalogue()[SPACE])


@pytest.mark.parametrize("arm", ["none", "two-stage"])
def test_a_run_that_is_stopped_says_what_the_whole_run_says(
    oracle: Oracle, arm: str, tmp_path: Path
) -> None:
    spec = RunSpec(arm, "random", seed=3, trials=128, batch=8)
    execute(oracle.problem, spec, tmp_path / "whole.jsonl")
    whole = history_of(tmp_path / "whole.jsonl")
    truth = truth_in_order(oracle.problem, whole, pool_of(oracle.problem, whole))
    seconds, trials, there = Judged(whole, truth).reaches(oracle.optimum_us * 1.01)
    found = reach(oracle, spec, Shared(Memory()))
    near = whole.measured & (truth.latency_us <= oracle.optimum_us * 1.01)
    first = whole.measured[: np.flatnonzero(near)[0] + 1].sum()
    assert found[:4] == (trials, seconds, there, first)
    assert 0 <= found.regret <= 0.01
    assert there
    assert 8 < trials < 128


def test_a_run_that_never_gets_there_counts_with_all_that_it_did(oracle: Oracle) -> None:
    near = np.flatnonzero(oracle.near(0.01))
    unreachable = Oracle(oracle.problem, oracle.latency_us.copy(), oracle.failure, oracle.rejects)
    unreachable.latency_us[near[0]] = oracle.optimum_us / 2
    found = reach(unreachable, RunSpec("none", "random", 0, trials=20, batch=8), Shared(Memory()))
    assert (found.trials, found.there) == (20, False)
    assert 0.01 < found.regret < math.inf
    line = Line(SPACE, "random", "none", (found, Reached(5, 1.0, True)))
    assert line.trials == [math.inf, 5.0]
    assert "| 0/2 | - | 1/2 | - | 5 | - | - |" in list(table([line]))[2]


def test_the_pruner_may_take_the_chip_for_another_than_is_measured(oracle: Oracle) -> None:
    chip: Any = oracle.problem.chip
    slower = msgspec.structs.replace(chip, dram_gbps=chip.dram_gbps / 50, l2_kib=1)
    spec = RunSpec("two-stage", "evolutionary", 0, trials=64, batch=16)
    found = [reach(oracle, spec, Shared(Memory()), c) for c in (None, chip, slower)]
    assert found[0] == found[1] != found[2]
    assert found[2].trials > 0


def test_the_gain_is_the_median_of_the_seeds_and_the_mean_of_the_spaces() -> None:
    def line(space: str, arm: str, *trials: int) -> Line:
        return Line(space, "mcts", arm, tuple(Reached(t, 2.0 * t, True) for t in trials))

    *_, a, b, mean = table(
        [
            line("a", "none", 80, 30, 30),
            line("b", "none", 10, 10, 10),
            line("a", "two-stage", 10, 10, 10),
            line("b", "two-stage", 10, 20, 10),
        ]
    )
    assert "| 3/3 | 10 | 10 | 10 | 20 | 3.00x | 3.00x |" in a
    assert "| 1.00x | 1.00x |" in b
    assert mean.startswith("mcts two-stage: 1.73x sooner in trials, 1.73x in virtual time")


def test_the_command_writes_every_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    out = tmp_path / "found.json"
    main(["--space", SPACE, "--strategy", "random", "--seeds", "2", "--out", str(out)])
    (cell,) = json.loads(out.read_text())["cells"]
    assert len(cell["trials_to_1pct"]) == cell["reached"] == 2
    assert f"| {SPACE} | random | none | 2/2 |" in capsys.readouterr().out
    with pytest.raises(SystemExit) as refused:
        main(["--arms", "none,half"])
    assert refused.value.code == 2
    assert "'half': expected some of none" in capsys.readouterr().err
