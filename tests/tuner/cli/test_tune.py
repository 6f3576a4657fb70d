"""``prunelab tune``: what it delivers, how it resumes, what it refuses."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hwsim.chips import load_chip

from .said import ASCEND, BENCH, GEMM, TUNE, UB, Cli, files, log_of, refused


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--arm", "fast"), ("arm 'fast'", "expected one of")),
        (("--arm", "none,task"), ("arm 'none,task'", "expected one of")),
        (("--strategy", "annealing"), ("strategy 'annealing'", "expected one of")),
        (("--cost-model", "psychic"), ("--cost-model psychic", "expected one of mixed")),
        (("--trials", "0"), ("--trials 0: expected at least 1",)),
        (("--workload", "gemm:8x8x0"), ("K='0'", "expected a positive integer")),
    ],
    ids=lambda x: " ".join(x),
)
def test_wrong_arguments_of_tune(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    refused(cli(*TUNE, "--chip", "mlu370-s4", *arguments, "--out", tmp_path / "out"), *parts)
    assert not (tmp_path / "out").exists()


def test_tune_delivers_and_says_where(cli: Cli, folder: Path) -> None:
    said = cli(*TUNE, "--chip", "a100-sxm-40gb", "--out", folder, "--resume", "--format", "json")
    summary = json.loads(said.out)
    assert said.code == 0
    assert summary["measured"] == 12
    assert Path(summary["log"]) == log_of(folder)
    for name in ("best.py", "best.json", "database/database_workload.json"):
        assert (folder / name).stat().st_size
    best = json.loads((folder / "best.json").read_text())
    assert best["candidate"] == summary["candidate"]
    assert best["latency_us"] == pytest.approx(summary["best_us"], rel=1e-5)


def test_tune_counts_what_each_stage_pruned(cli: Cli, tmp_path: Path) -> None:
    tuned = (*TUNE, "--chip", "ascend-910b1", "--workload", "gemm:512x512x512:float16")
    said = json.loads(cli(*tuned, "--out", tmp_path, "--format", "json").out)
    records = list(map(json.loads, log_of(tmp_path).read_text().splitlines()))
    values = sum(len(r["values"]) for r in records if r["record"] == "task_prune")
    assert said["pruned_values"] == values > 0
    assert said["pruned"] == sum(r["record"] == "trial" for r in records) - said["measured"]
    text = cli(*tuned, "--out", tmp_path, "--resume").out
    assert f"  {said['pruned']} candidates during the search\n" in text
    assert f"  {values} by the task stage, before it\n" in text


def test_a_folder_is_used_again_only_with_resume_and_the_same_arguments(
    cli: Cli, folder: Path
) -> None:
    before = files(folder)
    same = (*TUNE, "--chip", "a100-sxm-40gb", "--out", folder)
    refused(cli(*same), "holds this run already", "--resume")
    for flags in ((), ("--resume",)):
        for arguments, field in (
            (("--chip", "mlu370-s4"), "chips is ['a100-sxm-40gb']"),
            (("--trials", "13"), "trials is 12, this run has 13"),
            (("--seed", "1"), "seed is 0"),
            (("--arm", "none"), "arms is ['two-stage']"),
            (("--workload", "gemm:64x64x64:float16"), f"workloads is ['{GEMM}']"),
        ):
            said = cli(*same, *arguments, *flags)
            refused(said, "belongs to another run", field, "give another --out")
    refused(cli(*BENCH, "--out", folder, "--resume"), "belongs to another run")
    assert files(folder) == before


def test_a_finished_run_resumes_to_the_same_files(cli: Cli, folder: Path) -> None:
    before = files(folder)
    assert cli(*TUNE, "--chip", "a100-sxm-40gb", "--out", folder, "--resume").code == 0
    assert files(folder) == before


def test_a_torn_log_is_mended_on_resume(cli: Cli, folder: Path) -> None:
    whole = log_of(folder).read_bytes()
    log_of(folder).write_bytes(whole[: len(whole) * 2 // 3])
    assert cli(*TUNE, "--chip", "a100-sxm-40gb", "--out", folder, "--resume").code == 0
    assert log_of(folder).read_bytes() == whole


def test_a_damaged_last_line_is_named_with_what_to_do(cli: Cli, folder: Path) -> None:
    whole = log_of(folder).read_bytes()
    lines = whole.splitlines(keepends=True)
    log_of(folder).write_bytes(b"".join(lines[:-1]) + lines[-1][:20] + b"\n")
    resume = (*TUNE, "--chip", "a100-sxm-40gb", "--out", folder, "--resume")
    refused(cli(*resume), f".jsonl:{len(lines)}: not a record", "remove that line, and --resume")
    log_of(folder).write_bytes(b"".join(lines[:-1]))
    assert cli(*resume).code == 0
    assert log_of(folder).read_bytes() == whole


@pytest.mark.parametrize(
    ("spoil", "parts"),
    [
        (lambda raw: b"once upon a time\n", ("no header of a prunelab log",)),
        (lambda raw: b"{}\n", ("no header of a prunelab log",)),
        (lambda raw: raw.replace(b'"seed":0', b'"seed":5', 1), ("another run", "seed is 5")),
        (lambda raw: raw.replace(b'"schema":1', b'"schema":9', 1), ("log schema 9",)),
        (lambda raw: raw.replace(b'"record":"trial"', b'"record":"tr', 1),
         ("not a record", "remove that line and what follows it, and --resume")),
        (lambda raw: raw.replace(b'"round":0', b'"round":7', 1), ("cannot be resumed",)),
    ],
    ids=["prose", "JSON", "seed", "schema", "damaged", "another program's"],
)  # fmt: skip
def test_a_foreign_log_is_left_alone(
    cli: Cli, folder: Path, spoil: Callable[[bytes], bytes], parts: tuple[str, ...]
) -> None:
    log_of(folder).write_bytes(spoil(log_of(folder).read_bytes()))
    before = files(folder)
    said = cli(*TUNE, "--chip", "a100-sxm-40gb", "--out", folder, "--resume")
    refused(said, log_of(folder).name, *parts)
    assert files(folder) == before


@pytest.mark.parametrize("chip", ["ascend-910b1", "mlu370-s4", "a100-sxm-40gb"])
@pytest.mark.parametrize("shape", ["1x1x1", "7x13x11"])
def test_tiny_and_prime_shapes_tune(cli: Cli, tmp_path: Path, chip: str, shape: str) -> None:
    said = cli(
        "tune", "--chip", chip, "--workload", f"gemm:{shape}:float16", "--trials", 8,
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert re.search(r"values +right on gemm", said.out)


def test_a_workload_that_the_chip_cannot_run_leaves_no_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from tvm import te, tirx\n"
        'A = te.placeholder((32, 48), name="A")\n'
        "f = te.create_prim_func("
        "[A, te.compute((32,), lambda i: A[i, tirx.indexmod(i * i, 48)])])\n"
    )
    said = cli(
        *TUNE, "--chip", "mlu370-s4", "--workload", tmp_path / "mine.py", "--out", tmp_path / "out"
    )
    refused(said, "mine.py:f", "cannot be simulated", "product of two")
    assert not (tmp_path / "out").exists()


def test_a_run_in_which_nothing_works_says_so(cli: Cli, tmp_path: Path) -> None:
    small = re.sub(r"value = \d+", "value = 1", UB)
    (tmp_path / "tiny.toml").write_text(
        ASCEND.replace(UB, small).replace('name = "ascend-910b1"', 'name = "tiny"')
    )
    said = cli(
        *TUNE, "--chip", tmp_path / "tiny.toml", "--arm", "none", "--workload", "softmax:64x65536",
        "--out", tmp_path / "out",
    )  # fmt: skip
    refused(said, "none of the", "runs on tiny", "prunelab explain")
    assert log_of(tmp_path / "out").exists()


def test_a_chip_from_a_file_works_throughout(cli: Cli, own_chip: tuple[Path, Path]) -> None:
    chip, out = own_chip
    log = log_of(out)
    assert log.name.startswith("my-910b1__")
    assert json.loads((out / "best.json").read_text())["chip"] == "my-910b1"
    assert "on my-910b1" in cli("explain", log, "0").out
    assert load_chip(chip).name == "my-910b1"


def wait_for(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Until something happened while the process runs."""
    deadline = time.monotonic() + 60
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_interrupted_run_resumes_to_the_same_log(cli: Cli, tmp_path: Path) -> None:
    same = (*TUNE, "--chip", "mlu370-s4", "--trials", "150", "--seed", "3")
    out = tmp_path / "out"
    code = "from tuner.cli import main; main()"
    started = subprocess.Popen(
        [sys.executable, "-c", code, *same, "--out", str(out)], stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: any(p.stat().st_size for p in out.glob("runs/*.jsonl")), started)
    started.send_signal(signal.SIGINT)
    _, complained = started.communicate(timeout=60)
    assert started.returncode == 130
    assert complained == (
        f"interrupted: what was measured is kept; go on with --out {out} --resume\n"
    )
    assert not (out / "best.json").exists()
    before = log_of(out).read_bytes()
    assert cli(*same, "--out", out, "--resume").code == 0
    assert cli(*same, "--out", tmp_path / "whole").code == 0
    assert log_of(out).read_bytes() == log_of(tmp_path / "whole").read_bytes()
    assert log_of(out).read_bytes().startswith(before)
    assert len(before) < log_of(out).stat().st_size
