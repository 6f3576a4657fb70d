"""The knowledge of operator patterns: what it forbids where, and users' tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hwsim.chips import load_chip
from pruner.patterns import patterns
from pruner.rule import RuleError
from pruner.rules.operator_pattern import OperatorPattern
from pruner.task import Axis, Decision, Task
from pruner.task_result import TaskResult
from pruner.task_stage import TaskStage

K = Decision(
    "k.tile",
    "tile",
    np.array([[8, 1], [4, 2], [1, 8]]),
    ("core", "serial"),
    Axis("k", 8, "float16", reduction=True),
)


def run(operators: tuple[str, ...], rule: OperatorPattern) -> TaskResult:
    task = Task("t", "ascend_cube", (K,), operators=operators)
    return TaskStage([rule], load_chip("ascend-910b1")).run(task)


def test_after_a_fused_activation_the_reduction_stays_whole() -> None:
    result = run(("conv2d", "bias", "relu"), OperatorPattern())
    assert result.values("k.tile").tolist() == [[1, 8]]
    verdict = result.verdict("k.tile", 0)
    assert verdict.rule == 'operator-pattern{file=""}'
    assert "whole sums" in verdict.reason
    assert "pattern conv-activation: at most 1 iterations, this has 8" in verdict.reason
    assert run(("conv2d",), OperatorPattern()).nodes_after == 3
    assert run(("relu", "conv2d"), OperatorPattern()).nodes_after == 3


def test_a_users_table_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    table = tmp_path / "mine.toml"
    table.write_text('[mine]\noperators = []\nrole = "core"\nmost = 4\nwhy = "because"\n')
    result = run(("conv2d", "relu"), OperatorPattern(str(table)))
    assert result.values("k.tile").tolist() == [[4, 2], [1, 8]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[mine]\noperators = []\nrole = "kernel"\nmost = 4\nwhy = "x"\n', "Invalid enum value"),
        ('[mine]\noperators = []\nrole = "core"\nwhy = "x"\n', "missing required field `most`"),
        ('[mine]\noperators = []\nrole = "core"\nmost = 0\nwhy = "x"\n', ">= 1"),
    ],
)
def test_a_wrong_table_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    table = tmp_path / "wrong.toml"
    table.write_text(text)
    with pytest.raises(RuleError, match=message):
        OperatorPattern(str(table))
    with pytest.raises(RuleError, match="cannot be read"):
        patterns(tmp_path / "none.toml")
