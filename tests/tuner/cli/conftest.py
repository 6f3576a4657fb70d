"""The command line in this process, and the folders of finished runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tuner.cli.app import run

from .said import ASCEND, TUNE, Cli, Said


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """``cli("tune", "--chip", ...)`` in this process."""

    def call(*arguments: object) -> Said:
        capsys.readouterr()
        code = run([str(a) for a in arguments])
        return Said(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished small run."""
    out = tmp_path_factory.mktemp("tuned") / "out"
    assert run([*TUNE, "--chip", "a100-sxm-40gb", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def own_chip(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A chip in a file of one's own, and the folder of a run on it whose task stage prunes."""
    folder = tmp_path_factory.mktemp("own")
    chip = folder / "mine.toml"
    chip.write_text(ASCEND.replace('name = "ascend-910b1"', 'name = "my-910b1"'))
    arguments = [*TUNE, "--chip", str(chip), "--workload", "gemm:1024x1024x1024:float16"]
    assert run([*arguments, "--trials", "100", "--batch", "16", "--out", str(folder / "out")]) == 0
    return chip, folder / "out"
