"""Chip files: every number sourced, every bad field named by its path, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hwsim.chip import ChipError
from hwsim.chips import chip_hash, chip_names, load_chip, load_file

B1 = Path(__file__).parents[2] / "hwsim/ascend_cube/chips/ascend-910b1.toml"


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = B1.read_text(encoding="utf-8")
    assert old in text
    file = tmp_path / "chip.toml"
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", chip_names())
def test_every_shipped_chip_loads_under_its_own_name_with_sources(name: str) -> None:
    chip = load_chip(name)
    assert chip.name == name
    assert {"rules.min_core_share", "noise.sigma", "bench.compile_s"} <= set(chip.provenance)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ub_kib = {", "ub_kb = {", "unknown field `$.ub_kb`"),
        ("l1_kib = { value = 512", "l1_kib = { value = -1", "`$.l1_kib`: Expected `int` >= 1"),
        ("l1_kib = { value = 512", "l1_kib = { value = 2097152", "`$.l1_kib`"),
        ("clock_mhz = { value = 1850", "clock_mhz = { value = 1850000", "`$.clock_mhz`"),
        ("clock_mhz = { value = 1850", "clock_mhz = { value = inf", "expected a finite number"),
        ("[gm_l1]\nbytes_per_cycle", "[gm_l1]\nbytes", "unknown field `$.gm_l1.bytes`"),
        ('mark = "V"', 'mark = "X"', "`$.cube_cores.mark`: Invalid enum value 'X'"),
        ('backend = "ascend_cube"', 'backend = "tpu"', "`$.backend` is 'tpu', expected one of"),
        ('vendor = "Huawei"', "vendor = 3", "`$.vendor` has no source"),
        ("float16 = { value = [8]", "half = { value = [8]", "`$.rules.vector_lanes_as_described`"),
        ('vendor = "Huawei"', 'vendor = "Huawei', "line"),
    ],
)
def test_a_bad_field_is_refused_in_one_line_that_names_file_and_path(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file = changed(tmp_path, old, new)
    with pytest.raises(ChipError) as error:
        load_file(file)
    assert str(error.value).startswith(f"{file}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_number_without_its_source_and_a_missing_field_are_refused(tmp_path: Path) -> None:
    line = next(x for x in B1.read_text(encoding="utf-8").splitlines() if x.startswith("ub_kib"))
    with pytest.raises(ChipError, match="has no source"):
        load_file(changed(tmp_path, line, "ub_kib = 192"))
    with pytest.raises(ChipError, match=r"missing field `\$\.ub_kib\.source`"):
        load_file(changed(tmp_path, line, 'ub_kib = { value = 192, mark = "V" }'))
    with pytest.raises(ChipError, match=r"missing field `\$\.ub_kib`"):
        load_file(changed(tmp_path, line, ""))


def test_unknown_names_get_a_hint_and_paths_are_told_from_names(tmp_path: Path) -> None:
    with pytest.raises(ChipError, match="did you mean ascend-910b1"):
        load_chip("ascend-910b1x")
    with pytest.raises(ChipError, match="No such file"):
        load_chip(tmp_path / "none.toml")
    assert load_chip(str(B1)) == load_chip("ascend-910b1")


def test_the_hash_follows_values_and_not_their_sources(tmp_path: Path) -> None:
    base = chip_hash(load_chip("ascend-910b1"))
    reworded = load_file(changed(tmp_path, "platform config, SoCInfo.cube_core_cnt", "elsewhere"))
    assert chip_hash(reworded) == base
    other = load_file(changed(tmp_path, "ub_kib = { value = 192", "ub_kib = { value = 256"))
    assert chip_hash(other) != base
