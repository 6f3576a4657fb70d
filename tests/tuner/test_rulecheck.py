"""``prunelab check``: rules against a small space whose truth is known whole."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from hwsim.chips import load_chip
from pruner.host import RuleHost
from pruner.rulesets import rule_set
from tuner.cli.app import run
from tuner.oracle import catalogue
from tuner.problem import Problem
from tuner.rulecheck.case import Case
from tuner.rulecheck.check import check_rules
from tuner.rulecheck.findings import Findings
from tuner.rulecheck.verdict import Bounds, objections, remarks
from tuner.workloads import resolve
from tuner.written import WrittenError, read_candidate, written

VANDALS = Path(__file__).parent.parent / "pruner" / "vandals.py"
CHIP, WORKLOAD = "mlu370-s4", "gemm:64x64x64:float16"
SPACE = ("--chip", CHIP, "--workload", WORKLOAD)


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run([str(a) for a in arguments])
    return code, *capsys.readouterr()


@pytest.fixture(scope="module")
def case() -> Case:
    """A space of 372 candidates."""
    problem = Problem.of(resolve(WORKLOAD), load_chip(CHIP))
    return Case.of_problem(problem, rule_set("default"), 0)


def test_every_vandal_is_named(case: Case) -> None:
    with RuleHost([str(VANDALS)], limit_s=3) as host:
        results = list(check_rules(host, host.describe([]), [case], Bounds()))
    found = {r.rule.spec: r for r in results}
    for rule, reason in {
        "all": "prunes all of 372 candidates",
        "loops": "gave no answer within 3 s",
        "exits": "ended its process",
        "raises": "ValueError: no way",
        "misshapen": "expected bool (0,)",
        "impure": "answers differently the second time",
        "vain": "reason is empty",
    }.items():
        assert not found[rule].ships
        assert reason in found[rule].reasons[0]
        assert CHIP in found[rule].reasons[0]
    whole = found["all"].to_json()["cases"][0]
    assert whole["exhaustive"]
    assert whole["space_regret"] is None
    assert (whole["pruning_rate"], whole["false_prune_rate"], whole["optimum_pruned"]) == (1, 1, 1)
    assert any("cannot run" in reason for reason in found["liar"].reasons)
    assert not any("cannot run" in reason for reason in found["careless"].reasons)
    _measured_by_hand(case, found["careless"].cases[0].findings)


def _measured_by_hand(case: Case, found: Findings | None) -> None:
    """The measures of a rule against those of its mask, computed from the same reference."""
    assert found is not None
    ((_, table),) = case.chunks()
    latency = case.latency_us
    cores = table.per_candidate(table["clusters"] * table["cores_per_cluster"], np.maximum)
    gone, near = cores > 1, latency <= latency.min() * 1.05
    assert gone[near].any()
    assert np.array_equal(found.keep, ~gone)
    assert found.measures["pruning_rate"] == gone.mean()
    assert found.measures["false_prune_rate"] == (gone & near).sum() / near.sum()
    assert found.measures["space_regret"] == pytest.approx(
        latency[~gone].min() / latency.min() - 1, rel=1e-5
    )
    assert [w.latency_us for w in found.worst] == sorted(latency[near & gone])[:3]


def test_a_careless_rule_does_not_ship_and_its_mistakes_can_be_simulated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("check", VANDALS, "--rule", "careless", *SPACE)
    code, out, err = said(capsys, *arguments)
    assert (code, err) == (1, "")
    assert "loses the optimum" in out
    assert r"uses 2 of 1 \x1b[31m" in out
    assert out.endswith("verdict: do not ship\n")
    (line, *_) = [line for line in out.splitlines() if "prunelab simulate" in line]
    code, out, _ = said(capsys, *shlex.split(line)[1:], "--format", "json")
    assert code == 0
    assert json.loads(out)["latency_us"] > 0


def test_limits_that_ship(capsys: pytest.CaptureFixture[str]) -> None:
    rules = ("--rule", "capacity{scope=nram}", "--rule", "value-capacity{scope=nram}")
    code, out, _ = said(capsys, "check", *SPACE, *rules, "--format", "json")
    trial, task = json.loads(out)["rules"]
    assert code == 0
    assert (trial["verdict"], task["verdict"]) == ("ship", "ship")
    assert "us_batch" in trial["cases"][0]["cost"]
    assert {"node_prune_rate", "valid_nodes_pruned"} < set(task["cases"][0])


GOOD = {
    "candidates": 100.0, "near_optimum": 10.0, "pruning_rate": 0.5, "pruning_rate_above_base": 0.1,
    "false_prune_rate": 0.0, "false_prunes": 0.0, "space_regret": 0.0, "wrong_limits": 0.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"space_regret": 0.02}, ["loses the optimum: the best that it leaves is 2.00% slower"]),
        ({"space_regret": None},
         ["loses the optimum: the best that it leaves is infinitely slower"]),
        ({"false_prunes": 1.0, "false_prune_rate": 0.1},
         ["prunes 1 of 10 candidates within 5 % of the optimum (10.0%, allowed 1.0%)"]),
        ({"wrong_limits": 3.0}, ["says that what it prunes cannot run, 3 of it does run"]),
        ({"pruning_rate": 1.0, "space_regret": None}, ["prunes all of 100 candidates"]),
    ],
)  # fmt: skip
def test_objections(changes: dict[str, float | None], said: list[str]) -> None:
    assert objections({**GOOD, **changes}, Bounds()) == said


def test_bounds_and_remarks() -> None:
    assert not objections({**GOOD, "space_regret": 0.02}, Bounds(regret=0.02))
    assert remarks(GOOD) == []
    assert remarks({**GOOD, "pruning_rate": 0.0}) == ["prunes nothing"]
    idle = {**GOOD, "pruning_rate_above_base": 0.0}
    assert remarks(idle) == ["prunes nothing that the rule set leaves"]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("check",), "no rule: give a .py file"),
        (("check", "no.py"), "no.py: no such rules file"),
        (("check", "--rule", "nope"), "rule 'nope': unknown"),
        (("check", "--rule", "occupancy-floor", *SPACE), "is for gpu_sm, which none"),
        (("check", "--rule", "int-overflow", "--chip", "nope"), "chip 'nope'"),
        (("check", "--rule", "int-overflow", "--workload", "nope"), "unknown name 'nope'"),
        (("check", "--rule", "int-overflow", "--rules", "nope"), "rule set 'nope'"),
        (("check", "--rule", "int-overflow", "--limit-s", "0"), "--limit-s"),
        (("simulate", "--decisions", "0:x=1"), "expected with --chip and --workload"),
        (("check", "--rule", "int-overflow", "--space", "nope"), "space 'nope': unknown"),
        (("simulate", "--space", "nope", "--decisions", "0:x=1"), "space 'nope': unknown"),
        (("simulate", *SPACE, "--decisions", "9:x=1"), "with a sketch below"),
    ],
)
def test_mistakes_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], part: str
) -> None:
    code, out, err = said(capsys, *arguments)
    assert (code, out) == (2, "")
    assert part in err
    assert err.count("\n") == 1


def test_a_candidate_is_written_and_read_back() -> None:
    problem = Problem.of(resolve(WORKLOAD), load_chip(CHIP))
    rng = np.random.default_rng(0)
    for sketch in problem.sketches:
        for row in sketch.sample(rng, 5):
            index, again = read_candidate(problem.sketches, written(sketch, row))
            assert index == sketch.index
            assert np.array_equal(again, row)
    first = problem.sketches[0]
    good = written(first, first.sample(rng, 1)[0])
    for text, part in (
        ("", "expected SKETCH:NAME=VALUE"),
        ("0:", "is missing, expected one of"),
        ("0:frobs=1", "no decision 'frobs'"),
        ("0:frobs", "expected NAME=VALUE"),
        (good.replace("=", "=7x", 1), "has no value '7x"),
    ):
        with pytest.raises(WrittenError, match=part):
            read_candidate(problem.sketches, text)


def test_a_space_of_the_catalogue_is_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--space", "ascend-conv-small", "--rule", "capacity{scope=l1}")
    code, out, _ = said(capsys, "check", *arguments, "--format", "json")
    (case,) = json.loads(out)["rules"][0]["cases"]
    assert code == 0
    assert case["exhaustive"]
    assert case["space"] == "ascend-conv-small"
    assert case["candidates"] == catalogue()["ascend-conv-small"].candidates
