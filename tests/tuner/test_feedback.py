"""What a run leaves in a store, and what the next one makes of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from hwsim.chips import load_chip
from pruner.rule import Finding
from pruner.rulesets import Rules, rule_set
from traces import read_header
from traces.store import Proven, Store
from tuner.cli.app import run
from tuner.feedback import Whitelisted, stored
from tuner.networks import Network
from tuner.problem import Problem
from tuner.proof import prove
from tuner.runs import task_stage
from tuner.survivors import REMARK
from tuner.workloads import resolve

CHIP, SPEC = "mlu370-s4", "gemm:64x64x64:int8"
TUNE = ("tune", "--chip", CHIP, "--trials", "32", "--batch", "8")

NOTHING = '''
"""A rule that keeps nothing: where it stands, only what is whitelisted and its rescue are left."""
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from pruner.rule import Finding

@dataclass(frozen=True)
class Nothing:
    """Prunes everything."""
    name: ClassVar[str] = "nothing"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("mlu_sram",)
    hard: ClassVar[bool] = True

    def check(self, table, chip):
        ones = np.ones(table.n)
        return Finding(np.zeros(table.n, bool), "all", 2 * ones, ones, "B", "everything goes")
'''


def tune(*arguments: object) -> int:
    return run([str(a) for a in (*TUNE, *arguments)])


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store and the run ``one`` that filled it."""
    folder = tmp_path_factory.mktemp("first")
    assert tune("--workload", SPEC, "--store", folder / "store", "--out", folder / "one") == 0
    return folder


@pytest.fixture
def problem() -> Problem:
    return Problem.of(resolve(SPEC), load_chip(CHIP))


def log_of(out: Path) -> Path:
    (path,) = (out / "runs").iterdir()
    return path


def test_a_run_leaves_its_measurements_and_its_proven_schedule(first: Path) -> None:
    held = Store(first / "store").contents()
    best = json.loads((first / "one" / "best.json").read_text())
    assert len(held.measured) == 32
    assert {len(m.features) for m in held.measured} == {38}
    (entry,) = held.proven
    assert entry.candidate == best["candidate"]
    assert entry.proof["integer_bits_needed"] == (64 * 128 * 128).bit_length() + 1
    assert entry.proof["run_error"] == 0
    assert set(entry.versions) == {"analysis", "prunelab", "apache-tvm", "numpy"}


def test_the_next_run_sees_them_verifies_and_resumes(
    first: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ("--workload", "gemm:64x64x128:int8", "--store", first / "store", "--no-check")
    taken = Store(first / "store").snapshot()
    assert tune(*other, "--out", tmp_path / "two") == 0
    log = log_of(tmp_path / "two")
    assert read_header(log).store == taken
    assert Store(first / "store").snapshot() != taken  # it has grown by this run
    assert "gate: begins with 32 measurements of 1 earlier tasks" in capsys.readouterr().out
    assert run(["replay", "--verify", str(log)]) == 0
    whole = log.read_bytes()
    log.write_bytes(whole[: len(whole) // 2])
    assert tune(*other, "--out", tmp_path / "two", "--resume") == 0
    assert log.read_bytes() == whole


def test_a_store_that_has_changed_is_said_in_one_line(
    first: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    top = (first / "store" / "top100.jsonl").read_text().splitlines(keepends=True)
    (store / "top100.jsonl").write_text("".join(top[:4]))
    arguments = ("--workload", SPEC, "--store", store, "--no-check", "--out", tmp_path / "out")
    assert tune(*arguments) == 0
    (store / "top100.jsonl").write_text("".join(top[1:]))
    capsys.readouterr()
    assert run(["replay", "--verify", str(log_of(tmp_path / "out"))]) == 2
    assert "is not the store that the run had" in capsys.readouterr().err


def test_a_rule_that_prunes_everything_leaves_what_is_whitelisted(
    first: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = tmp_path / "nothing.py"
    rule.write_text(NOTHING)
    (entry,) = Store(first / "store").contents().proven
    out = tmp_path / "out"
    grid = ("--strategy", "exhaustive", "--arm", "trial", "--trials", "60", "--no-check")
    arguments = ("--workload", SPEC, "--store", first / "store", "--rule-file", rule, *grid)
    assert tune(*arguments, "--out", out) == 0
    capsys.readouterr()
    log = str(log_of(out))
    assert run(["explain", log, entry.candidate, "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["verdict"]["rule"] == "whitelist"
    assert said["verdict"]["keep"]
    assert "nothing" in said["verdict"]["reason"]
    assert [v["rule"] for v in said["chain"]][-2:] == ["nothing", "whitelist"]


def test_the_tasks_of_a_network_leave_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = Network.of_specs("tiny", ["add:64x64", "softmax:64x64"])
    monkeypatch.setattr("tuner.networks.resolve_network", lambda name: tiny)
    store, out = tmp_path / "store", tmp_path / "out"
    assert tune("--network", "tiny", "--store", store, "--out", out) == 0
    workloads = {m.workload for m in Store(store).contents().measured}
    assert workloads == {"add:64x64:float16", "softmax:64x64:float16"}
    assert {read_header(p).store for p in (out / "runs").iterdir()} == {Store("none").snapshot()}


def test_what_is_not_proven_is_not_listed(problem: Problem) -> None:
    row = problem.sketches[0].sample(np.random.default_rng(0), 1)[0].tolist()
    assert isinstance(prove(problem, 0, row), Proven)
    long = Problem.of(resolve("gemm:16x16x131072:int8"), problem.chip)
    row = long.sketches[0].sample(np.random.default_rng(0), 1)[0].tolist()
    assert prove(long, 0, row) == "an integer sum needs 33 bits and has 32"


def test_entries_of_another_version_of_the_analysis_count_no_longer(
    problem: Problem, tmp_path: Path
) -> None:
    row = problem.sketches[0].sample(np.random.default_rng(0), 1)[0].tolist()
    entry = prove(problem, 0, row)
    assert isinstance(entry, Proven)
    for version, listed in (("1.0.0", {entry.candidate}), ("0.9.0", set())):
        store = Store(tmp_path / version)
        store.add([Proven(**{**_fields(entry), "versions": {"analysis": version}})])
        assert stored(problem, str(store.folder), store.snapshot())[0].hashes == listed


def _fields(entry: Proven) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in Proven.__struct_fields__}


@dataclass(frozen=True)
class Last:
    """A soft task rule that leaves only the last value of every decision."""

    name: ClassVar[str] = "last"
    stage: ClassVar[str] = "task"
    joint: ClassVar[bool] = False
    hard: ClassVar[bool] = False
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm", "mlu_sram")

    def check(self, space: Any, decision: Any, chip: Any) -> Finding:
        n = len(decision.values)
        keep = np.arange(n) == n - 1
        return Finding(keep, "place", np.ones(n) + ~keep, np.ones(n), "", "not the last")


def with_last() -> Rules:
    shipped = rule_set("default")
    return Rules("last", (Last(),), shipped.trial)


def test_values_of_a_whitelisted_schedule_survive_the_task_stage(problem: Problem) -> None:
    sketch = problem.sketches[1]
    row = sketch.sample(np.random.default_rng(3), 1)[0]
    listed = Whitelisted({sketch.hash(row)}, [(sketch.hash(row), row.tolist())])
    results = task_stage(problem, with_last(), listed)
    for d in sketch.decisions:
        left = d.options()[results[1].allowed[d.name]]
        assert row[d.start : d.stop].tolist() in left.tolist()
        assert len(left) <= 2
    assert all(r.nodes_after == len(r.task.decisions) for i, r in enumerate(results) if i != 1)


def test_soft_rules_never_leave_a_space_without_a_valid_candidate() -> None:
    """The last values of a CUDA GEMM break TVM's thread limits, so that the rule is passed over."""
    cuda = Problem.of(resolve("gemm:512x512x512:float32"), load_chip("v100-sxm2"))
    results = task_stage(cuda, with_last())
    assert all(result.nodes_after == result.nodes_before for result in results)
    assert {r.text for result in results for r in result.remarks} == {REMARK}
