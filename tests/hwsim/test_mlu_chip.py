"""The MLU370 chip files: units, derived figures, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from hwsim.chip import ChipError
from hwsim.chips import load_chip
from hwsim.mlu_sram.chip import MluChip

FILES = Path(__file__).parents[2] / "hwsim" / "mlu_sram" / "chips"
NAMES = sorted(path.stem for path in FILES.glob("*.toml"))


def mlu(name: str) -> MluChip:
    chip = load_chip(name)
    assert isinstance(chip, MluChip)
    return chip


def test_the_three_cards_are_there() -> None:
    assert {"mlu370-s4", "mlu370-x4", "mlu370-x8"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_local_memories_are_those_of_the_data_sheet(name: str) -> None:
    chip = mlu(name)
    assert chip.nram_bytes == 753_664  # what the largest kernel of mlu-ops allocates
    assert chip.wram_bytes == 1_048_576
    assert chip.sram_bytes == 4_194_304 - 131_072


def test_the_s4_has_24_mib_of_sram() -> None:
    chip = mlu("mlu370-s4")
    assert chip.clusters * chip.sram_kib == 24 * 1024
    assert chip.cores == 24


def test_peak_rates_match_the_published_tflops() -> None:
    x4, x8 = mlu("mlu370-x4"), mlu("mlu370-x8")
    assert 2e-6 * x4.peak_macs_per_us("float16") == pytest.approx(96, rel=0.03)
    assert 2e-6 * x4.peak_macs_per_us("int8") == pytest.approx(256, rel=0.03)
    assert 2 * 2e-6 * x8.peak_macs_per_us("float32") == pytest.approx(32, rel=0.03)  # two chips


@pytest.mark.parametrize("name", NAMES)
def test_every_number_has_a_source(name: str) -> None:
    chip = mlu(name)
    assert {"clock_mhz", "macs_per_cycle.float16", "rules.vector_lanes.int8"} <= set(
        chip.provenance
    )
    assert all(
        "calibration/" in fact.source for fact in chip.provenance.values() if fact.mark == "C"
    )


def test_a_reserve_that_leaves_nothing_is_refused(tmp_path: Path) -> None:
    text = (FILES / "mlu370-s4.toml").read_text()
    bad = tmp_path / "bad.toml"
    bad.write_text(text.replace("sram_kib = { value = 4096", "sram_kib = { value = 128"))
    with pytest.raises(ChipError, match="sram_reserved_kib is 128, expected below sram_kib 128"):
        load_chip(bad)
