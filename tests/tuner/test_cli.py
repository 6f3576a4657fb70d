"""The command line: what users get wrong is one clear line, exit code 2, and nothing is lost."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hwsim.chips import load_chip
from tuner.cli.app import run

SHIPPED = Path(sys.modules["hwsim.chips"].__file__ or "").parent
GEMM = "gemm:128x128x128:float16"
BENCH = ("bench", "--chip", "mlu370-s4", "--workload", GEMM, "--seeds", "1", "--trials", "8")
TUNE = ("tune", "--workload", GEMM, "--trials", "12", "--batch", "8", "--no-check")


class Said(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Cli = Callable[..., Said]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """``cli("tune", "--chip", ...)`` in this process."""

    def call(*arguments: object) -> Said:
        capsys.readouterr()
        code = run([str(a) for a in arguments])
        return Said(code, *capsys.readouterr())

    return call


def refused(said: Said, *parts: str) -> None:
    """One line on stderr that names every one of ``parts``."""
    assert said.code == 2
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    for part in parts:
        assert part in said.err


def files(folder: Path) -> dict[str, bytes]:
    """Everything below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


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


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("nope",), ("No such command 'nope'",)),
        (("tune",), ("--chip",)),
        (("tune", "--chip", "mlu370-s4"), ("either --workload or --network",)),
        (("tune", "--chip", "mlu370-s4", "--network", "nope"), ("expected one of resnet50",)),
        (
            ("tune", "--chip", "mlu370-s4", "--workload", "add:8x8", "--space-kind", "nope"),
            ("--space-kind 'nope': expected generated or template",),
        ),
        (("chips", "nope"), ("chip 'nope'", "known: ")),
        (("rules", "nope"), ("rule set 'nope'", "known: ")),
        (("explain",), ("argument",)),
        (("explain", "no/log.jsonl"), ("no/log.jsonl: cannot be read",)),
    ],
    ids=lambda x: " ".join(x),
)
def test_wrong_arguments_of_others(
    cli: Cli, arguments: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    refused(cli(*arguments), *parts)


def test_no_arguments_is_help(cli: Cli) -> None:
    said = cli()
    assert said.code == 0
    assert "bench" in said.out


ASCEND = (SHIPPED / "ascend_cube/chips/ascend-910b1.toml").read_text()
UB = next(line for line in ASCEND.splitlines() if line.startswith("ub_kib"))


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        ("[", "[[", ()),
        (UB, f"{UB}\nfrobs = 3", ("`$.frobs`", "no source")),
        (UB, f'{UB}\nfrobs = {{ value = 3, mark = "V", source = "a book" }}',
         ("unknown field `$.frobs`",)),
        (UB, "", ("missing field `$.ub_kib`",)),
        (UB, "ub_kib = 192", ("`$.ub_kib` has no source", "expected { value")),
        (UB, re.sub(r"value = \d+", "value = -5", UB), ("`$.ub_kib`", ">= 1")),
        (UB, re.sub(r"value = \d+", "value = 0", UB), ("`$.ub_kib`", ">= 1")),
        (UB, re.sub(r"value = \d+", "value = inf", UB), ("`$.ub_kib`", "finite")),
        (UB, re.sub(r'mark = "."', 'mark = "X"', UB), ("`$.ub_kib.mark`", "'X'")),
        ('backend = "ascend_cube"', 'backend = "tpu"', ("`$.backend`", "'tpu'", "expected one of")),
        ('name = "ascend-910b1"', 'name = "A/../B"', ("`$.name`",)),
    ],
)  # fmt: skip
def test_a_chip_file_with_a_mistake_in_it(
    cli: Cli, tmp_path: Path, before: str, after: str, parts: tuple[str, ...]
) -> None:
    assert before in ASCEND
    path = tmp_path / "mine.toml"
    path.write_text(ASCEND.replace(before, after, 1))
    refused(cli(*BENCH, "--chip", path, "--out", tmp_path / "out"), str(path), *parts)
    refused(cli("chips", path), str(path), *parts)
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


RULE = """
from dataclasses import dataclass
from typing import ClassVar

@dataclass(frozen=True)
class Mine:
    name: ClassVar[str] = "mine"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("mlu_sram",)
    hard: ClassVar[bool] = False

    def check(self, table, chip):
        raise ValueError("not <b>today</b>")
"""


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("raise RuntimeError('no')", "RuntimeError: no"),
        ("x = 1", "no rule found; expected a frozen dataclass"),
        (RULE.replace('"mine"', '"roofline-bound"'), "'roofline-bound' is defined twice"),
        (RULE.replace("    backends", "    chips"), "rule 'mine' has no 'backends'"),
        (RULE.replace("    hard: ClassVar[bool] = False\n", ""), "rule 'mine' has no 'hard'"),
        (RULE.replace('"trial"', '"task"'), "rule 'mine' has no 'joint'"),
    ],
)
def test_a_rules_file_with_a_mistake_in_it(cli: Cli, tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    refused(cli(*BENCH, "--rule-file", path, "--out", tmp_path / "out"), str(path), part)
    refused(cli("rules", "--rule-file", path), str(path), part)
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


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished small run."""
    out = tmp_path_factory.mktemp("tuned") / "out"
    assert run([*TUNE, "--chip", "a100-sxm-40gb", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def at_random(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same at random, so that some of what it meets is pruned."""
    out = tmp_path_factory.mktemp("random") / "out"
    asked = [*TUNE, "--chip", "a100-sxm-40gb", "--strategy", "random"]
    assert run([*asked, "--out", str(out)]) == 0
    return out


@pytest.fixture
def folder(tuned: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    return Path(shutil.copytree(tuned, tmp_path / "out"))


def wait_for(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Until something happened while the process runs."""
    deadline = time.monotonic() + 60
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def log_of(folder: Path) -> Path:
    (path,) = (folder / "runs").glob("*.jsonl")
    return path


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


@pytest.mark.parametrize(
    ("spoil", "parts"),
    [
        (lambda raw: b"once upon a time\n", ("no header of a prunelab log",)),
        (lambda raw: b"{}\n", ("no header of a prunelab log",)),
        (lambda raw: raw.replace(b'"seed":0', b'"seed":5', 1), ("another run", "seed is 5")),
        (lambda raw: raw.replace(b'"schema":1', b'"schema":9', 1), ("log schema 9",)),
        (lambda raw: raw.replace(b'"record":"trial"', b'"record":"tr', 1), ("not a record",)),
        (lambda raw: raw.replace(b'"round":0', b'"round":7', 1), ("cannot be resumed",)),
    ],
    ids=["prose", "JSON", "seed", "schema", "damaged", "another program's"],
)
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


# --- explain


def test_explain_without_more_is_an_overview(cli: Cli, at_random: Path) -> None:
    said = cli("explain", log_of(at_random))
    assert said.code == 0
    assert f"{GEMM} on a100-sxm-40gb, arm two-stage" in said.out
    rows = json.loads(cli("explain", log_of(at_random), "--format", "json").out)
    assert rows
    assert cli("explain", log_of(at_random), rows[0]["example"]).code == 0
    trials = trials_of(at_random)
    left = [row["left"] for row in rows if row["where"] == "candidates"]
    assert left == sorted(left, reverse=True)
    assert left[-1] == sum(t["measurement"] is not None for t in trials)


def trials_of(folder: Path) -> list[dict[str, Any]]:
    records = map(json.loads, log_of(folder).read_text().splitlines())
    return [r for r in records if r["record"] == "trial"]


def test_explain_agrees_with_the_log_whatever_pruned(cli: Cli, own_chip: tuple[Path, Path]) -> None:
    log = log_of(own_chip[1])
    pruned = [t for t in trials_of(own_chip[1]) if t["measurement"] is None]
    one_of_each = {t["verdict"]["rule"].split("{")[0]: t for t in pruned}
    assert "capacity" in one_of_each
    for rule, trial in one_of_each.items():
        said = json.loads(cli("explain", log, trial["candidate"], "--format", "json").out)
        assert said["subject"] == trial["candidate"]
        assert said["verdict"] == trial["verdict"]
        first = next(v for v in said["chain"] if not v["keep"])
        assert first == trial["verdict"], rule  # the first that objects gets the blame


def test_decisions_are_printed_as_explain_takes_them(cli: Cli, own_chip: tuple[Path, Path]) -> None:
    log = log_of(own_chip[1])
    text = cli("explain", log, "0").out.splitlines()[0]
    sketch = re.search(r"sketch (\d+): ", text)
    decisions = re.findall(r"[\w.#]+=[\dx]+", text)
    assert sketch
    assert len(decisions) > 3
    for decision in (decisions[0], decisions[-1]):
        assert "=> kept" in cli("explain", log, f"{sketch[1]}:{decision}").out


def test_explain_prints_numbers_units_and_sources(cli: Cli, at_random: Path) -> None:
    pruned = next(t for t in trials_of(at_random) if t["measurement"] is None)
    text = cli("explain", log_of(at_random), pruned["index"]).out
    assert re.search(r"PRUNE tvm-verifier", text)
    assert re.search(r"need \d+ B, have \d+ B", text)
    assert "=> pruned by" in text
    kept = next(t for t in trials_of(at_random) if t["measurement"] is not None)
    assert re.search(
        r"measured: [\d.]+ us, bottleneck", cli("explain", log_of(at_random), kept["candidate"]).out
    )


def test_explain_names_what_it_cannot_find(cli: Cli, tuned: Path, folder: Path) -> None:
    log, n = log_of(tuned), len(trials_of(tuned))
    refused(cli("explain", log, "zzz"), "no candidate begins with 'zzz'", f"below {n}")
    refused(cli("explain", log, "²"), "no candidate begins with '²'")
    digit = next(d for d in "abcdef" if sum(t["candidate"][0] == d for t in trials_of(tuned)) > 1)
    refused(cli("explain", log, digit), f"candidates begin with '{digit}'")
    refused(cli("explain", log, n), f"a trial number below {n}")
    refused(cli("explain", tuned, "0"), "cannot be read")
    refused(cli("explain", tuned / "best.py", "0"), "no header of a prunelab log")
    raw = log.read_bytes()
    log_of(folder).write_bytes(raw.replace(b'"chip_hash":"', b'"chip_hash":"00', 1))
    refused(cli("explain", log_of(folder), "0"), "chip a100-sxm-40gb has changed since")
    log_of(folder).write_bytes(raw.replace(b'"rules_hash":"', b'"rules_hash":"00', 1))
    refused(cli("explain", log_of(folder), "0"), "the rules of default@1.1.0 have changed since")
    log_of(folder).write_bytes(raw.replace(b'"workload_hash":"', b'"workload_hash":"0', 1))
    refused(cli("explain", log_of(folder), "0"), f"program of workload {GEMM} has changed since")


def test_a_log_explains_itself_away_from_its_folder(cli: Cli, tuned: Path, tmp_path: Path) -> None:
    shutil.copy(log_of(tuned), tmp_path / "moved.jsonl")
    there, here = (cli("explain", path, "0") for path in (log_of(tuned), tmp_path / "moved.jsonl"))
    assert here.code == 0
    assert here.out == there.out


@pytest.fixture(scope="module")
def own_chip(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A chip in a file of one's own, and the folder of a run on it whose task stage prunes."""
    folder = tmp_path_factory.mktemp("own")
    chip = folder / "mine.toml"
    chip.write_text(ASCEND.replace('name = "ascend-910b1"', 'name = "my-910b1"'))
    arguments = [*TUNE, "--chip", str(chip), "--workload", "gemm:1024x1024x1024:float16"]
    assert run([*arguments, "--trials", "100", "--batch", "16", "--out", str(folder / "out")]) == 0
    return chip, folder / "out"


def test_a_chip_from_a_file_works_throughout(cli: Cli, own_chip: tuple[Path, Path]) -> None:
    chip, out = own_chip
    log = log_of(out)
    assert log.name.startswith("my-910b1__")
    assert json.loads((out / "best.json").read_text())["chip"] == "my-910b1"
    assert "on my-910b1" in cli("explain", log, "0").out
    assert load_chip(chip).name == "my-910b1"


def test_a_chip_file_that_has_moved_is_given_anew(
    cli: Cli, own_chip: tuple[Path, Path], tmp_path: Path
) -> None:
    chip, out = own_chip
    plan = json.loads((out / "plan.json").read_text())
    copy = Path(shutil.copytree(out, tmp_path / "out"))
    (copy / "plan.json").write_text(json.dumps({**plan, "chips": ["gone.toml"]}))
    refused(cli("explain", log_of(copy), "0"), "is of chip my-910b1", "--chip")
    refused(cli("explain", log_of(copy), "0", "--chip", "mlu370-s4"), "is of chip my-910b1")
    assert cli("explain", log_of(copy), "0", "--chip", chip).code == 0


def test_explain_of_values_that_the_task_stage_removed(
    cli: Cli, own_chip: tuple[Path, Path]
) -> None:
    _, out = own_chip
    log = log_of(out)
    rows = json.loads(cli("explain", log, "--format", "json").out)
    row = next(r for r in rows if r["stage"] == "task")
    where, value = row["example"].split("=")
    assert where == row["where"]
    listed = json.loads(cli("explain", log, where, "--format", "json").out)
    assert {"value": value, "rule": row["rule"]} in listed
    assert len(listed) == sum(r["pruned"] for r in rows if r["where"] == where)
    chain = json.loads(cli("explain", log, row["example"], "--format", "json").out)
    assert chain["verdict"]["rule"] == row["rule"]
    assert chain["verdict"]["stage"] == "task"
    assert not chain["verdict"]["keep"]
    text = cli("explain", log, row["example"]).out
    assert re.search(r"need \d+ B, have \d+ B", text)
    assert re.search(r"basis: my-910b1 \w+ = \d+ \(\w: ", text)
    assert f"=> pruned by {row['rule']}" in text


def test_explain_names_the_values_it_cannot_find(
    cli: Cli, tuned: Path, own_chip: tuple[Path, Path]
) -> None:
    log = log_of(own_chip[1])
    refused(cli("explain", log, "0:nope=1"), "no decision 'nope'", "expected one of")
    refused(cli("explain", log, "99:nope=1"), "no sketch 99")
    refused(cli("explain", log, "0:nope"), "removed nothing of 0:nope")
    rows = json.loads(cli("explain", log, "--format", "json").out)
    where = next(r["where"] for r in rows if r["stage"] == "task")
    refused(cli("explain", log, f"{where}=3x5x7"), "no value '3x5x7'", "expected one of", "more")


def test_explain_of_a_value_wants_a_task_stage(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert cli(*TUNE, "--chip", "mlu370-s4", "--arm", "none", "--out", out).code == 0
    refused(cli("explain", log_of(out), "0:i.tile=1"), "arm none has no task stage")
    assert "nothing was pruned" in cli("explain", log_of(out)).out


def test_control_characters_of_others_do_not_reach_the_terminal(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(RULE.replace("<b>today</b>", "\\x1b[31m\\ntoday"))
    said = cli(
        *TUNE, "--chip", "mlu370-s4", "--arm", "trial", "--rule-file", path,
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert said.code == 0
    text = cli("explain", log_of(tmp_path / "out"), "0").out
    assert "left out, ValueError: not" in text
    path.write_text("raise ValueError('\x1b[31m red')")
    said = cli("rules", "--rule-file", path)
    refused(said, r"ValueError: \x1b[31m red")
    assert "\x1b" not in text + said.err


# --- what is imported when


def imported(*arguments: str) -> tuple[int, set[str], str]:
    """Exit code, heavy packages that the command imported, and its stderr, in a fresh process."""
    code = (
        "import sys; from tuner.cli.app import run; code = run(sys.argv[1:]);"
        "heavy = {'tvm', 'lightgbm', 'matplotlib', 'scipy', 'pandas', 'numpy', 'pyarrow'};"
        "print('|'.join(sorted(heavy & set(sys.modules))), code, sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    *_, heavy, exit_code = done.stdout.splitlines()
    return int(exit_code), set(heavy.split("|")) - {""}, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("bench", "--help"), ("tune", "--help"), ("explain", "--help"), ()],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert imported(*arguments)[:2] == (0, set())


@pytest.mark.parametrize(
    "arguments",
    [
        ("nope",),
        ("bench", "--trials", "0"),
        ("bench", "--arms", "fast"),
        ("bench", "--format", "x"),
    ],
    ids=" ".join,
)
def test_mistakes_import_nothing_heavy(arguments: tuple[str, ...]) -> None:
    code, heavy, said = imported(*arguments)
    assert (code, heavy) == (2, set())
    assert said.startswith("error: ")


@pytest.mark.parametrize(
    "arguments",
    [("bench", "--chip", "nope"), ("bench", "--workload", "gemm:0x1x1"), ("chips",), ("rules",),
     ("explain", "no.jsonl")],
    ids=" ".join,
)  # fmt: skip
def test_tvm_is_imported_only_for_programs(arguments: tuple[str, ...]) -> None:
    assert "tvm" not in imported(*arguments)[1]


def test_every_class_of_user_errors_exists() -> None:
    from importlib import import_module

    from tuner.cli.errors import _CLASSES, user_errors

    for module, name in _CLASSES:
        assert issubclass(getattr(import_module(module), name), ValueError)
    assert len(user_errors()) == len(_CLASSES) + 1


# --- chips, rules, doctor


def test_every_number_of_a_chip_has_a_mark_and_a_source(cli: Cli) -> None:
    facts = json.loads(cli("chips", "mlu370-s4", "--format", "json").out)
    numbers = [f for f in facts if not isinstance(f["value"], str)]
    assert len(numbers) > 30
    assert all(f["mark"] in "VSDRCA" and f["source"] for f in numbers)
    listed = json.loads(cli("chips", "--format", "json").out)
    assert {"ascend-910b1", "mlu370-s4", "a100-sxm-40gb"} <= {c["name"] for c in listed}


def test_rules_are_printed_as_they_parse_back(cli: Cli) -> None:
    from pruner.registry import load_rules
    from pruner.spec import print_rule

    found = json.loads(cli("rules", "default", "--format", "json").out)
    assert found["rule_set"].startswith("default@")
    for row in found["rules"]:
        assert print_rule(load_rules().parse(row["rule"])) == row["rule"]
        assert row["doc"]


def test_doctor_finds_what_the_project_pins(cli: Cli) -> None:
    from importlib.metadata import requires

    from tuner.cli.doctor import FFI, TVM

    assert {f"apache-tvm=={TVM}", f"apache-tvm-ffi=={FFI}"} <= set(requires("prunelab") or ())
    said = cli("doctor", "--format", "json")
    assert said.code == 0
    assert all(check["state"] in ("ok", "missing") for check in json.loads(said.out))


def test_doctor_names_another_version(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.cli.doctor.FFI", "0.0.1")
    said = cli("doctor")
    assert said.code == 1
    assert re.search(r"apache-tvm-ffi +broken +\S+, expected 0\.0\.1", said.out)
