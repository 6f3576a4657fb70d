"""The CPU's chip file: limits of the machine, each with its source, and no simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from hwsim.backends import simulate
from hwsim.chip import ChipError
from hwsim.chips import load_chip, load_file
from hwsim.cpu import discover
from hwsim.cpu.chip import CpuChip
from hwsim.table import KernelTable
from pruner.features import FEATURES, features
from pruner.testing import random_table
from tuner.cli.app import run

FILE = Path(discover.__file__).parent / "chips/local-cpu.toml"


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose operating system says nothing; files can be put into its folder."""
    monkeypatch.setattr(discover, "CPU", tmp_path)
    monkeypatch.setattr(discover, "CPUINFO", tmp_path / "cpuinfo")
    discover.discovered.cache_clear()
    yield tmp_path
    discover.discovered.cache_clear()


def cache(machine: Path, index: int, level: int, kind: str, size: str) -> None:
    folder = machine / f"cache/index{index}"
    folder.mkdir(parents=True)
    for name, text in (("level", level), ("type", kind), ("size", size)):
        (folder / name).write_text(f"{text}\n")


def test_limits_are_those_that_the_operating_system_lists(bare_machine: Path) -> None:
    cache(bare_machine, 0, 1, "Data", "48K")
    cache(bare_machine, 1, 2, "Unified", "2M")
    (bare_machine / "cpuinfo").write_text("flags : fpu sse2 avx avx512f\n")
    chip = load_chip("local-cpu")
    assert isinstance(chip, CpuChip)
    assert (chip.l1_kib, chip.l2_kib, chip.vector_bytes) == (48, 2048, 64)
    assert chip.lanes(32) == 16
    assert chip.provenance["l2_kib"].mark == "V"
    assert chip.provenance["l2_kib"].source.endswith("index1/size")


def test_what_the_machine_does_not_say_is_assumed_and_marked(bare_machine: Path) -> None:
    chip = load_chip("local-cpu")
    assert isinstance(chip, CpuChip)
    assert (chip.l3_kib, chip.vector_bytes) == (2048, 16)
    assert chip.provenance["l3_kib"].mark == "A"


def test_a_file_overrides_the_machine(tmp_path: Path) -> None:
    text = FILE.read_text().replace('"local-cpu"', '"board"', 1)
    file = tmp_path / "board.toml"
    file.write_text(text.replace("cores = { value = 0", "cores = { value = 96"))
    chip = load_file(file)
    assert isinstance(chip, CpuChip)
    assert chip.cores == 96
    assert chip.provenance["cores"].source == "asked of the machine"


def test_there_is_no_simulator_and_that_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    chip = load_chip("local-cpu")
    with pytest.raises(ChipError, match="is a real cpu, it is measured and has no simulator"):
        simulate(KernelTable("cpu", 1), chip)
    assert run(["simulate", "--chip", "local-cpu", "--tiles", "m=1"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_features_of_any_table_are_finite(rng_tables: list[KernelTable]) -> None:
    chip = load_chip("local-cpu")
    for table in rng_tables:
        x = features(table, chip)
        assert x.shape == (table.n_candidates, len(FEATURES))
        assert (x == x).all()
        assert abs(x).max() < float("inf")


@pytest.fixture
def rng_tables() -> list[KernelTable]:
    import numpy as np

    return [random_table("cpu", 50, np.random.default_rng(seed)) for seed in range(3)]
