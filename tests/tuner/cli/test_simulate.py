"""``prunelab simulate`` on the command line: by hand, from a run's log, from a trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hwsim.chips import load_chip
from hwsim.simulation import simulate_both
from traces import LogError, Trial, read
from tuner.cli.app import run
from tuner.deliver import deliver
from tuner.problem import Problem
from tuner.runs import RunSpec, execute
from tuner.scheduled import of_run, of_trace
from tuner.workloads import resolve

TILES = "split_m=2,split_n=2,base_m=128,base_n=128,base_k=64"
SPEC = "gemm:256x256x256:float16"


def simulate(*arguments: str) -> int:
    return run(["simulate", *arguments])


def test_tiles_by_hand_print_the_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("--chip", "ascend-910b1", "--workload", SPEC, "--tiles", TILES) == 0
    text = capsys.readouterr().out
    for part in (
        "held by", "time by unit", "bytes by level", "padding_waste", "core_utilisation",
        "what would help", "analytical model", "discrete-event model",
    ):  # fmt: skip
        assert part in text


def test_json_and_timeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "timeline.json"
    arguments = ["--tiles", "m=512,n=512,k=512,tile_m=128,tile_n=128,threads=256"]
    arguments += ["--chip", "rtx-3090", "--format", "json", "--timeline", str(path)]
    assert simulate(*arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["latency_us"] > 0
    assert found["kernels"][0]["events_us"] > 0
    assert 0 < found["kernels"][0]["timeline_us"] <= found["kernels"][0]["events_us"]
    events = json.loads(path.read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X", "C"}


@pytest.mark.parametrize(
    ("chip", "tiles"),
    [
        ("rtx-3090", "tile_m=128,tile_n=128,threads=256"),
        ("ascend-910b1", f"dtype=float16,{TILES}"),
        ("mlu370-s4", "tile_m=64,tile_n=64,tile_k=64"),
    ],
)
def test_a_timeline_says_how_much_of_a_long_kernel_it_shows(
    chip: str, tiles: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "timeline.json"
    sizes = "m=8192,n=8192,k=8192,"
    assert simulate("--chip", chip, "--tiles", sizes + tiles, "--timeline", str(path)) == 0
    trace = json.loads(path.read_text())
    about = trace["otherData"]
    last = max(event["ts"] + event["dur"] for event in trace["traceEvents"] if event["ph"] == "X")
    assert about["timeline_us"] == pytest.approx(last)
    assert last < 0.5 * about["events_us"]
    shown = f"{last:,.1f} of {about['events_us']:,.1f} us ({last / about['events_us']:.1%})"
    assert about["shows"].startswith(shown)
    assert f"timeline shows {shown}" in capsys.readouterr().out


def test_every_backend_tells_occupancy_and_utilisation(capsys: pytest.CaptureFixture[str]) -> None:
    for chip, tiles, name in (
        ("rtx-3090", "m=512,n=512,k=512,tile_m=128,tile_n=128,threads=256", "utilisation"),
        ("ascend-910b1", f"m=512,n=512,k=512,dtype=float16,{TILES}", "cube_utilisation"),
        ("mlu370-s4", "m=512,n=512,k=512,tile_m=64,tile_n=64,tile_k=64", "utilisation"),
    ):
        assert simulate("--chip", chip, "--tiles", tiles) == 0
        text = capsys.readouterr().out
        assert "  occupancy  " in text
        assert f"  {name}  " in text


def test_a_kernel_without_tiles_lists_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("--chip", "rtx-3090", "--kernel", "convolution") == 0
    assert "tile_x" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "expected one of --run LOG, --trace FILE"),
        ("--tiles a=1", "--tiles: expected with --chip"),
        ("--chip rtx-3090 --tiles a", "expected NAME=VALUE"),
        ("--chip rtx-309 --tiles a=1", "did you mean rtx-3090"),
        ("--chip rtx-3090 --tiles tile_m=1", "missing"),
        ("--chip rtx-3090 --tiles m=10,n=1,m=20", "--tiles: m is given 2 times, expected once"),
        ("--chip rtx-3090 --kernel gemm", "gpu_sm has matmul"),
        ("--chip rtx-3090 --candidate 3 --tiles m=1", "--candidate: expected with --run"),
        ("--chip rtx-3090 --workload softmax:8x8:float32 --tiles m=1", "gemm and batch_matmul"),
        ("--run /nowhere.jsonl", "/nowhere.jsonl"),
        ("--trace /nowhere.json", "/nowhere.json: No such file"),
    ],
)
def test_mistakes_are_one_line_and_code_2(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate(*arguments.split()) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run with what ``prunelab tune`` leaves behind."""
    folder = tmp_path_factory.mktemp("run")
    problem = Problem.of(resolve(SPEC), load_chip("mlu370-s4"))
    path = folder / "runs" / "run.jsonl"
    path.parent.mkdir()
    execute(problem, RunSpec("none", "random", 0, trials=8, batch=8), path)
    trials = [r for r in read(path) if isinstance(r, Trial) and r.measurement is not None]
    deliver(problem, [t for t in trials if t.measurement and not t.measurement.failure], folder)
    return path


def test_the_best_of_a_run_is_what_was_measured(log: Path) -> None:
    measured = [
        t.measurement.mean_us
        for t in read(log)
        if isinstance(t, Trial) and t.measurement is not None and not t.measurement.failure
    ]
    found = of_run(log, None, None)
    true_us = simulate_both(found.table, found.chip).latency_us
    assert true_us == pytest.approx(min(measured), rel=0.1)  # noise apart


def test_the_trace_of_the_best_is_the_same_kernel(log: Path) -> None:
    by_run = of_run(log, None, None)
    by_trace = of_trace(log.parent.parent / "best.json", None, None)
    assert by_trace.chip.name == "mlu370-s4"
    assert [by_trace.table.row(i) for i in range(len(by_trace.table))] == [
        by_run.table.row(i) for i in range(len(by_run.table))
    ]


def test_a_candidate_by_number(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("--run", str(log), "--candidate", "2") == 0
    assert "tile[0]=" in capsys.readouterr().out


def test_traces_that_do_not_fit_are_refused(log: Path, tmp_path: Path) -> None:
    best = log.parent.parent / "best.json"
    with pytest.raises(LogError, match="not a trace of softmax"):
        of_trace(best, "softmax:64x64:float16", None)
    bare = tmp_path / "trace.json"
    bare.write_text(json.dumps(json.loads(best.read_text())["trace"]))
    with pytest.raises(LogError, match="names no workload and chip"):
        of_trace(bare, None, None)
    assert len(of_trace(bare, SPEC, "mlu370-s4").table)
    bare.write_text("{}")
    with pytest.raises(LogError, match="expected a trace"):
        of_trace(bare, None, None)
