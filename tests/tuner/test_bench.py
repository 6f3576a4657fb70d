"""A small benchmark end to end: what it writes, that it is deterministic, and how it is resumed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from traces import End, read
from tuner.bench.group import run_group
from tuner.bench.plan import Plan
from tuner.bench.pool import run_groups
from tuner.cli.app import run
from tuner.report import write_report

CHIP, WORKLOAD = "mlu370-s4", "gemm:64x64x64:float16"
PLAN = ["bench", "--chip", CHIP, "--workload", WORKLOAD, "--arms", "none,two-stage",
        "--seeds", "2", "--trials", "24", "--batch", "8"]  # fmt: skip
MEASURES = {
    "best_us", "run_regret", "offered", "measured", "failed", "rejected", "virtual_s",
    "task_prune_rate", "pruning_rate", "pruning_rate_above_verifier", "worthless_recall",
    "worthless_recall_above_verifier",
    "false_prune_rate", "versus_none", "convergence_speedup_time", "convergence_speedup_trials",
    "unconverged", "space_regret", "space_false_prune_rate", "trials_to_1pct",
    "model_pairwise_accuracy", "model_peak_at_1", "model_peak_at_5",
}  # fmt: skip
OF_TASK_STAGE = {"node_prune_rate", "valid_nodes_pruned", "invalid_nodes", "nodes"}
OF_CELL = {
    "chip", "workload", "arm", "strategy", "seeds", "reference", "reference_optimum_us",
    "reference_candidates", "space", "space_kind", "space_size", "rules", "notes",
}  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small benchmark."""
    out = tmp_path_factory.mktemp("bench") / "out"
    assert run([*PLAN, "--out", str(out)]) == 0
    return out


def results_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return found


def logs_of(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in (folder / "runs").iterdir()}


def test_the_folder_and_its_keys(bench: Path) -> None:
    assert {p.name for p in bench.iterdir()} == {
        "plan.json", "results.json", "timings.json", "report.html", "runs",
    }  # fmt: skip
    results = results_of(bench)
    assert set(results) == {"header", "cells"}
    header = results["header"]
    assert header["chips"] == [CHIP]
    assert (header["seeds"], header["trials"], header["batch"]) == (2, 24, 8)
    assert [c["arm"] for c in results["cells"]] == ["none", "two-stage"]
    for cell in results["cells"]:
        expected = OF_CELL | MEASURES | (OF_TASK_STAGE if cell["arm"] == "two-stage" else set())
        assert set(cell) == expected
        for key in expected - OF_CELL:
            assert set(cell[key]) == {"median", "low", "high"}
            if cell[key]["median"] is not None:
                assert cell[key]["low"] <= cell[key]["median"] <= cell[key]["high"]


def test_the_control_is_held_against_itself(bench: Path) -> None:
    none = results_of(bench)["cells"][0]
    assert none["versus_none"]["median"] == 0
    assert none["convergence_speedup_time"] == {"median": 1.0, "low": 1.0, "high": 1.0}
    assert none["pruning_rate"]["median"] == none["space_regret"]["median"] == 0
    assert none["rules"] == []


def test_every_run_is_there_and_finished(bench: Path) -> None:
    names = {f"{CHIP}__gemm-64x64x64-float16__{arm}__evolutionary__seed{seed}.jsonl"
             for arm in ("none", "two-stage") for seed in (0, 1)}  # fmt: skip
    assert set(logs_of(bench)) == names
    for path in (bench / "runs").iterdir():
        *_, last = read(path)
        assert isinstance(last, End)
        assert last.measured == 24


def test_wall_times_are_apart(bench: Path) -> None:
    timings = json.loads((bench / "timings.json").read_text())
    assert {t["run"] for t in timings["runs"]} == {n.removesuffix(".jsonl") for n in logs_of(bench)}
    (cost,) = timings["pruning"]
    assert {"task_us", "gate_us_single", "gate_us_batch"} < set(cost)
    text = (bench / "results.json").read_text()
    assert not re.search(r"wall|gate_us|task_us", text)
    assert not any(b"wall" in log for log in logs_of(bench).values())


def test_two_runs_give_the_same_bytes(bench: Path, tmp_path: Path) -> None:
    assert run([*PLAN, "--out", str(tmp_path / "again")]) == 0
    again = tmp_path / "again"
    assert (again / "results.json").read_bytes() == (bench / "results.json").read_bytes()
    assert (again / "report.html").read_bytes() == (bench / "report.html").read_bytes()
    assert logs_of(again) == logs_of(bench)


def test_golden_results(bench: Path, golden: Callable[[str, Any], None]) -> None:
    golden(f"bench-{CHIP}", results_of(bench)["cells"])


def test_an_interrupted_benchmark_resumes_to_the_same_results(bench: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", "from tuner.cli import main; main()", *PLAN, "--out", str(out)]
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(lambda: any(p.stat().st_size for p in out.glob("runs/*.jsonl")), started)
    os.killpg(started.pid, signal.SIGINT)  # as a terminal does: to parent and workers alike
    said, complained = started.communicate(timeout=60)
    assert started.returncode == 130
    assert said == ""
    assert complained.splitlines() == [
        f"interrupted: what was measured is kept; go on with --out {out} --resume"
    ]
    assert not (out / "results.json").exists()
    kept = logs_of(out)
    assert run([*PLAN, "--out", str(out), "--resume"]) == 0
    assert (out / "results.json").read_bytes() == (bench / "results.json").read_bytes()
    assert logs_of(out) == logs_of(bench)
    assert any(kept.values())
    for name, log in kept.items():
        assert logs_of(out)[name].startswith(log)


def wait_for(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_finished_benchmark_is_resumed_from_its_logs(bench: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(bench, tmp_path / "out"))
    (out / "results.json").unlink()
    assert run([*PLAN, "--out", str(out), "--resume"]) == 0
    assert (out / "results.json").read_bytes() == (bench / "results.json").read_bytes()


def test_a_group_that_is_stopped_has_no_cells(tmp_path: Path) -> None:
    plan = Plan(chips=(CHIP,), workloads=(WORKLOAD,), arms=("none",), seeds=1, trials=24, batch=8)
    rounds = iter([False, False, True, True, True])
    (tmp_path / "runs").mkdir()
    result = run_group(
        plan, plan.groups()[0], tmp_path, False, lambda *state: None, lambda: next(rounds)
    )
    assert result.cells == []
    (log,) = (tmp_path / "runs").iterdir()
    assert sum(1 for line in log.read_text().splitlines() if '"trial"' in line) == 8


def test_the_error_of_a_group_ends_the_benchmark_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(
        "from tvm import te, tirx\n"
        'A = te.placeholder((32, 48), name="A")\n'
        "f = te.create_prim_func("
        "[A, te.compute((32,), lambda i: A[i, tirx.indexmod(i * i, 48)])])\n"
    )
    code = run([*PLAN, "--workload", str(tmp_path / "mine.py"), "--out", str(tmp_path / "out")])
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert re.fullmatch(r"error: workload .*mine\.py:f.* cannot be simulated: .*\n", said.err)


def test_progress_of_every_run_comes_back(tmp_path: Path) -> None:
    plan = Plan(chips=(CHIP,), workloads=(WORKLOAD,), arms=("none",), seeds=1, trials=16, batch=8)
    heard: list[Any] = []
    (result,) = run_groups(plan, tmp_path, False, heard.append)
    assert [message[1] for message in heard] == [8, 16, 16]
    assert [message[-1] for message in heard] == [False, False, True]
    assert len(result.cells) == 1


# --- the report

SCRIPT = "<script>alert(1)</script>"
RULE = f'''
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from pruner.rule import Finding

@dataclass(frozen=True)
class Mine:
    """Prunes everything, {SCRIPT}."""

    name: ClassVar[str] = "mine"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("mlu_sram",)
    hard: ClassVar[bool] = True
    why: str = "{SCRIPT}"

    def check(self, table, chip):
        n = np.ones(table.n)
        return Finding(n < 0, "x", 2 * n, n, "B", "{SCRIPT}")
'''


class Page(HTMLParser):
    """What a browser would load or run."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href", "data")]


def harmless(html: str) -> None:
    page = Page(html)
    assert "svg" in page.tags
    assert not page.tags & {"script", "link", "img", "iframe", "object"}
    assert all(link.startswith("#") for link in page.links)
    assert not re.search(r"url\((?!#)|@import", html)


def test_the_report_works_offline(bench: Path) -> None:
    html = (bench / "report.html").read_text()
    harmless(html)
    assert f"{CHIP} · {WORKLOAD} · evolutionary" in html
    assert "two-stage" in html


def test_the_report_escapes_what_rules_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = RULE.replace("Mine", "Broken").replace('"mine"', '"broken"')
    raising = 'raise ValueError("\x1b[31m")'
    broken = re.sub(r"n = np.ones.*", lambda _: raising, broken)
    (tmp_path / "mine.py").write_text(RULE + broken)
    out = tmp_path / "out"
    arguments = [*PLAN, "--arms", "trial", "--seeds", "1", "--rule-file", str(tmp_path / "mine.py")]
    assert run([*arguments, "--out", str(out)]) == 0
    (cell,) = results_of(out)["cells"]
    assert any("left nothing of" in note and SCRIPT in note for note in cell["notes"])
    assert any("is broken and left out" in note and "\x1b[31m" in note for note in cell["notes"])
    said = capsys.readouterr().out
    assert "left out: ValueError: \\x1b[31m" in said
    assert "\x1b" not in said
    html = (out / "report.html").read_text()
    assert "&lt;script&gt;" in html
    harmless(html)


def test_the_report_escapes_every_name(bench: Path, tmp_path: Path) -> None:
    text = (bench / "results.json").read_text()
    for name in (CHIP, WORKLOAD, "two-stage", "evolutionary"):
        text = text.replace(json.dumps(name), json.dumps(f"{SCRIPT}$\\mathbf{{{name}}}$"))
    results = json.loads(text)
    cell = results["cells"][0]
    cell["rules"] = [{"stage": "trial", "rule": f"{SCRIPT}$x$", "pruned": 3}]
    curve = {k: cell[k] for k in ("chip", "workload", "strategy", "arm")}
    curve |= {"seed": 0, "trial": [1], "virtual_s": [1.0], "latency_us": [2.0]}
    curve |= {"end_virtual_s": 2.0, "end_trial": 2}
    write_report(tmp_path, results, [curve])
    html = (tmp_path / "report.html").read_text()
    assert "&lt;script&gt;" in html
    harmless(html)


def test_a_report_in_which_nothing_works(bench: Path, tmp_path: Path) -> None:
    results = results_of(bench)
    for cell in results["cells"]:
        cell["reference_optimum_us"] = None
        for key in MEASURES:
            cell[key] = {"median": None, "low": None, "high": None}
    write_report(tmp_path, results, [])
    assert "nothing that works" in (tmp_path / "report.html").read_text()
