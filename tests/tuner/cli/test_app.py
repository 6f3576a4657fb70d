"""All commands: mistakes are one line, and only what is needed is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tuner.cli import main

from .said import TUNE, Cli, refused


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


def test_ctrl_c_before_the_search_is_one_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hit(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tuner.problem.Problem.of", hit)
    said = cli(*TUNE, "--chip", "mlu370-s4", "--out", tmp_path / "out")
    assert said == (130, "", "interrupted\n")


def test_ctrl_c_before_a_command_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def hit(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("tuner.cli.app.run", hit)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"
