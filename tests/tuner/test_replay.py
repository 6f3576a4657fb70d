"""``prunelab replay``: how a run went; --verify makes it again and finds what was changed."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pruner.verdict import explanation_from_json
from tuner.cli.app import run

TUNE = ("tune", "--chip", "mlu370-s4", "--workload", "gemm:64x64x64:float16",
        "--trials", "12", "--batch", "4", "--no-check")  # fmt: skip


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a small two-stage run."""
    out = tmp_path_factory.mktemp("tune") / "out"
    assert run([*TUNE, "--out", str(out)]) == 0
    (path,) = (out / "runs").iterdir()
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run([str(a) for a in arguments])
    return code, *capsys.readouterr()


def changed(log: Path, folder: Path, old: str, new: str, line: int = -2) -> Path:
    """A copy of the run's folder in which one line of the log says something else."""
    copy = Path(shutil.copytree(log.parent.parent, folder)) / "runs" / log.name
    lines = copy.read_text().splitlines(keepends=True)
    assert old in lines[line]
    lines[line] = lines[line].replace(old, new, 1)
    copy.write_text("".join(lines))
    return copy


def test_a_run_is_replayed_from_its_log(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "replay", log, "--format", "json")
    found = json.loads(out)
    records = [json.loads(line) for line in log.read_text().splitlines()]
    end, trials = records[-1], [r for r in records if r["record"] == "trial"]
    assert code == 0
    assert (found["measured"], found["offered"]) == (end["measured"], len(trials))
    assert found["ended"] == end["reason"]
    assert found["virtual_s"] == end["virtual_s"]
    assert (
        sum(n for rule, n in found["skipped"].items() if rule.startswith("trial"))
        == (end["pruned"])
    )
    steps = found["steps"]
    assert steps[-1]["best_us"] == end["best_us"]
    assert steps[-1]["candidate"] == end["best_candidate"]
    assert all(a["best_us"] > b["best_us"] for a, b in pairwise(steps))
    code, out, _ = said(capsys, "replay", log)
    assert code == 0
    assert end["best_candidate"] in out


def test_a_log_that_was_interrupted(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = changed(log, tmp_path / "out", "", "")
    whole = copy.read_bytes()
    copy.write_bytes(whole[: int(len(whole) * 0.7)])  # torn in the middle of a line
    code, out, _ = said(capsys, "replay", copy)
    assert code == 0
    assert "interrupted" in out
    code, out, _ = said(capsys, "replay", copy, "--verify")
    assert (code, out.split(":")[0]) == (0, "verified")
    assert "the log ends before the run does" in out


def test_a_trial_that_is_missing_is_told(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = changed(log, tmp_path / "out", "", "")
    lines = copy.read_text().splitlines(keepends=True)
    gone = next(i for i, line in enumerate(lines) if '"index":3,' in line)
    copy.write_text("".join(lines[:gone] + lines[gone + 1 :]))
    code, out, _ = said(capsys, "replay", copy)
    assert code == 0
    assert "the log is damaged: trial 4 stands where 3 was expected" in out


def test_the_same_run_comes_out_again(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "replay", log, "--verify")
    n = len(log.read_text().splitlines())
    assert code == 0
    assert out.startswith(f"verified: {n} lines,")


def first_measured(log: Path) -> tuple[int, dict[str, Any]]:
    for i, line in enumerate(log.read_text().splitlines()):
        record: dict[str, Any] = json.loads(line)
        if record.get("measurement"):
            return i, record
    raise AssertionError("nothing was measured")


def test_the_first_difference_is_named(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    i, record = first_measured(log)
    us = record["measurement"]["latencies_us"][0]
    copy = changed(log, tmp_path / "a", f'"latencies_us":[{us}', '"latencies_us":[1.5', i)
    code, out, _ = said(capsys, "replay", copy, "--verify")
    assert code == 1
    assert out == (
        f"differs: {copy}:{i + 1}: measurement.latencies_us[0]: the log has 1.5, the run {us}\n"
    )
    code, out, _ = said(capsys, "replay", copy, "--verify", "--format", "json")
    assert code == 1
    assert f"{i + 1}: measurement" in json.loads(out)["verified"]["difference"]


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ('"version":"', '"version":"9', "version: the log has"),
        ('"rules_hash":"', '"rules_hash":"0', "rules_hash: the log has"),
        ('"chip_hash":"', '"chip_hash":"0', "chip mlu370-s4 has changed since"),
        ('"workload_hash":"', '"workload_hash":"0', "program of workload"),
        ('"seed":0', '"seed":1', "run: the log has"),
    ],
)
def test_a_header_that_says_otherwise(
    log: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    part: str,
) -> None:
    code, out, _ = said(capsys, "replay", changed(log, tmp_path / "a", old, new, 0), "--verify")
    assert code == 1
    assert part in out


def test_lines_too_many_and_too_few(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = changed(log, tmp_path / "a", "", "")
    lines = copy.read_text().splitlines(keepends=True)
    copy.write_text("".join([*lines, lines[-1]]))
    code, out, _ = said(capsys, "replay", copy, "--verify")
    assert code == 1
    assert f":{len(lines) + 1}: the run ends, the log goes on" in out


def test_an_audit_file_is_whole_and_verifies(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = tmp_path / "audit.json"
    assert said(capsys, "replay", log, "--export", audit)[0] == 0
    found = json.loads(audit.read_text())
    assert (found["schema"], found["schema_version"]) == ("prunelab-audit", "1.0.0")
    assert "".join(found["log"]) == log.read_text()
    assert {"log_sha256", "chip", "workload", "rules", "gate_sha256"} == set(found["hashes"])
    trials = [r for r in map(json.loads, found["log"]) if r["record"] == "trial"]
    chains = [d for d in found["decisions"] if d["trial"] is not None]
    assert [c["trial"] for c in chains] == [t["index"] for t in trials]
    for chain, trial in zip(chains, trials, strict=True):
        e = explanation_from_json(json.dumps(chain["explanation"]))
        assert e.subject == trial["candidate"]
        assert e.chain
        assert e.verdict.keep == (trial["verdict"] is None or trial["verdict"]["keep"])
    code, out, _ = said(capsys, "replay", audit, "--verify")
    assert (code, out.split(":")[0]) == (0, "verified")
    _tampered(found, tmp_path, capsys)


def _tampered(found: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every part of an audit file is held to what is derived again."""
    found["decisions"][-1]["explanation"]["chain"][0]["reason"] = "because"
    path = folder / "b.json"
    path.write_text(json.dumps(found))
    code, out, _ = said(capsys, "replay", path, "--verify")
    assert code == 1
    assert f"decisions[{len(found['decisions']) - 1}]: the chain of" in out
    found["log"][-1] = found["log"][-1].replace("budget", "hunger")
    path.write_text(json.dumps(found))
    code, _, err = said(capsys, "replay", path, "--verify")
    assert code == 2
    assert "not what hashes.log_sha256 says" in err


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "holds no complete line"),
        ("{}\n", "no header of a prunelab log"),
        ('{"schema": "prunelab-audit", "schema_version": "2.0.0"}\n', "audit schema 2.0.0"),
        ('{"schema": "prunelab-audit", "schema_version": "1.1.0"}\n', "no audit file of prunelab"),
    ],
)
def test_what_is_no_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, part: str
) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    code, out, err = said(capsys, "replay", path, "--verify")
    assert (code, out) == (2, "")
    assert part in err
    assert err.count("\n") == 1


def test_no_such_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "replay", tmp_path / "no.jsonl")
    assert code == 2
    assert "no.jsonl: cannot be read" in err


def test_real_hardware_cannot_be_made_again(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = changed(log, tmp_path / "a", '"backend":"sim"', '"backend":"rpc"', 0)
    code, _, err = said(capsys, "replay", copy, "--verify")
    assert code == 2
    assert "was measured by rpc" in err
    assert said(capsys, "replay", copy)[0] == 0
