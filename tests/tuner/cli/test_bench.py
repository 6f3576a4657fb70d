"""``prunelab bench``: what users get wrong is one clear line, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from .said import ASCEND, BENCH, GEMM, TUNE, Cli, files, refused

# Arguments that replace those of BENCH, and what the line has to say.
WRONG: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("--chip", "ascend-910b9"), ("'ascend-910b9'", "did you mean ascend-910b", "known: ")),
    (("--chip", "nope.toml"), ("nope.toml", "No such file")),
    (("--workload", "gem:8x8x8"), ("unknown name 'gem'", "did you mean 'gemm'")),
    (("--workload", "nope"), ("unknown name 'nope'", "expected a catalogue name")),
    (("--workload", "gemm:0x8x8"), ("M='0'", "expected a positive integer")),
    (("--workload", "gemm:8x-8x8"), ("N='-8'", "expected a positive integer")),
    (("--workload", "gemm:8x8x1.5"), ("K='1.5'", "expected a positive integer")),
    (("--workload", "gemm:8x8"), ("2 dimensions", "expected MxNxK")),
    (("--workload", "gemm:65536x65536x8"), ("65536x65536", "more than 2147483647 elements")),
    (("--workload", "gemm:8x8x8:float12"), ("'float12'", "expected one of float16")),
    (("--workload", "softmax:8x8:int8"), ("softmax has no int8", "expected float16")),
    (("--workload", "no/such.py"), ("no file 'no/such.py'",)),
    (("--arms", "none,fast"), ("arm 'fast'", "expected one of none, task")),
    (("--arms", ","), ("no arm given",)),
    (("--arms", "none,task,none"), ("arm 'none' is given twice",)),
    (("--strategy", "annealing"), ("strategy 'annealing'", "expected one of evolutionary")),
    (("--strategy", "random,annealing"), ("strategy 'annealing'", "expected one of")),
    (("--strategy", ","), ("--strategy", "expected a list")),
    (("--cost-model", "psychic"), ("--cost-model psychic", "expected one of mixed, lightgbm, mlp")),
    (("--rules", "strict"), ("rule set 'strict'", "known: default")),
    (("--rule-file", "no/rules.py"), ("no/rules.py: no such rules file",)),
    (("--trials", "0"), ("--trials 0: expected at least 1",)),
    (("--trials", "many"), ("--trials", "valid integer")),
    (("--batch", "0"), ("--batch 0: expected at least 1",)),
    (("--repeats", "-1"), ("--repeats -1: expected at least 1",)),
    (("--seeds", "0"), ("--seeds 0: expected at least 1",)),
    (("--seed", "-1"), ("--seed", "greater than or equal to 0")),
    (("--format", "xml"), ("--format", "'xml'")),
    (("--workload", "gemm:128x128x128"), ("has the same name as", GEMM)),
    (("--nonsense", "1"), ("--nonsense",)),
]


@pytest.mark.parametrize(("arguments", "parts"), WRONG, ids=lambda x: " ".join(x))
def test_wrong_arguments_of_bench(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    refused(cli(*BENCH, *arguments, "--out", tmp_path / "out"), *parts)
    assert not (tmp_path / "out").exists()


def test_a_chip_given_twice_under_one_name(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(ASCEND)
    said = cli(*BENCH, "--chip", "ascend-910b1", "--chip", tmp_path / "mine.toml")
    refused(said, "mine.toml", "has the same name as ascend-910b1")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("raise RuntimeError('first\\nsecond')", "raises RuntimeError: second"),
        ("import no_such_module", "raises ModuleNotFoundError"),
        ("def f(:", "raises SyntaxError"),
        ("raise SystemExit(3)", "raises SystemExit"),
        ("x = 1", "expected one PrimFunc, the file has none"),
        ("def f():\n    raise KeyError('k')", "function 'f' raises KeyError: 'k'"),
    ],
)
def test_a_python_workload_with_a_mistake_in_it(
    cli: Cli, tmp_path: Path, text: str, part: str
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    spec = f"{path}:f" if text.startswith("def f()") else str(path)
    refused(cli(*BENCH, "--workload", spec, "--out", tmp_path / "out"), str(path), part)
    assert not (tmp_path / "out").exists()


def test_an_output_folder_that_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for command in (BENCH, (*TUNE, "--chip", "mlu370-s4")):
        refused(cli(*command, "--out", tmp_path / "file"), "not a prunelab folder")
        refused(cli(*command, "--out", tmp_path / "file/out"), "file/out", "cannot be written")
    assert files(tmp_path) == {"file": b"mine"}


def test_a_store_that_cannot_be_written_is_found_before_anything_runs(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "store").symlink_to(tmp_path / "gone" / "store")
    for i, command in enumerate((BENCH, (*TUNE, "--chip", "mlu370-s4"))):
        found = cli(*command, "--store", tmp_path / "store", "--out", tmp_path / f"out{i}")
        refused(found, "store/top100.jsonl", "cannot be written")
        assert not (tmp_path / f"out{i}").exists()


def test_an_output_folder_with_files_of_others(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    for flags in ((), ("--resume",)):
        refused(cli(*BENCH, *flags, "--out", tmp_path), "not empty and not a prunelab folder")
    (tmp_path / "plan.json").write_text("{")
    refused(cli(*BENCH, "--resume", "--out", tmp_path), "plan.json: damaged")
    assert files(tmp_path) == {"thesis.tex": b"mine", "plan.json": b"{"}


def test_a_benchmark_without_the_control_says_what_is_missing(cli: Cli, tmp_path: Path) -> None:
    note = "note: without the arm none no arm has a speed-up or a vs none"
    for arms in ("task", "none,task"):
        said = cli(*BENCH, "--arms", arms, "--out", tmp_path / arms)
        assert said.code == 0
        assert (note in said.out) == (arms == "task")
