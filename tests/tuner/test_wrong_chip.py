"""A chip file that is wrong in one number: every number in turn, and the brittle rule is named."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from hwsim.chips import load_chip
from pruner.rulesets import rule_set
from tuner.bench.wrong_chip import NearOptimum, wrong_chips
from tuner.cli.app import run
from tuner.oracle import catalogue, load

MLU: Any = load_chip("mlu370-s4")


def test_every_number_is_wrong_once_up_and_once_down() -> None:
    found: dict[str, Any] = dict(wrong_chips(MLU, 0.2))
    up, down = found["nram_kib x 1.2"], found["nram_kib x 0.8"]
    assert (up.nram_kib, down.nram_kib) == (round(MLU.nram_kib * 1.2), round(MLU.nram_kib * 0.8))
    assert msgspec.structs.replace(up, nram_kib=MLU.nram_kib) == MLU
    assert "macs_per_cycle.float16 x 1.2" in found
    assert not any(number.startswith(("bench", "noise", "rules")) for number in found)


@pytest.fixture(scope="module")
def oracle() -> Any:
    return load(catalogue()["mlu-conv"])


def test_the_right_chip_loses_nothing(oracle: Any) -> None:
    kept = NearOptimum(oracle, rule_set("default")).judged_by(oracle.problem.chip)
    assert kept.regret == 0
    assert not kept.removed


def test_a_chip_that_is_far_too_slow_makes_the_bound_lose_the_optimum(oracle: Any) -> None:
    slow = msgspec.structs.replace(oracle.problem.chip, ddr_gbps=oracle.problem.chip.ddr_gbps / 20)
    kept = NearOptimum(oracle, rule_set("default")).judged_by(slow)
    assert kept.regret == float("inf")
    assert list(kept.removed) == ["roofline-bound{slack=1.25}"]


def test_robust_makes_whole_runs_and_says_where_one_ends_far_away(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def two_wrong(chip: Any, share: float) -> Any:
        yield "launch_us x 1.2", msgspec.structs.replace(chip, launch_us=chip.launch_us * 1.2)
        yield "nram_kib / 8", msgspec.structs.replace(chip, nram_kib=chip.nram_kib // 8)

    monkeypatch.setattr("tuner.bench.wrong_chip.wrong_chips", two_wrong)
    asked = ["robust", "--space", "mlu-conv", "--trials", "48", "--format", "json"]
    assert run(asked) == 1
    fine, far = json.loads(capsys.readouterr().out)["numbers"]
    assert fine["run_regret"] <= 0.02
    assert far["regret"] is None
    assert far["run_regret"] > 0.02
