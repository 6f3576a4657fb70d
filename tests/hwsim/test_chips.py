"""Chip files: every number sourced, every bad field named by its path, in one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hwsim.chip import ChipError
from hwsim.chips import chip_hash, chip_names, load_chip, load_file

HWSIM = Path(__file__).parents[2] / "hwsim"
B1 = HWSIM / "ascend_cube/chips/ascend-910b1.toml"


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
        (
            "l1_kib = { value = 512",
            "l1_kib = { value = -1",
            ">= 1 and <= 1,048,576",
        ),
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


@pytest.mark.parametrize(
    ("chip", "field", "value", "expected"),
    [
        ("ascend-910b1", "hbm_gb_per_s", "1e300", "`$.hbm_gb_per_s`: Expected `float` >= 0.1 and"),
        ("mlu370-s4", "ddr_gbps", "1e300", "`$.ddr_gbps`: Expected `float` >= 0.1 and <= 1,000"),
        ("mlu370-s4", "clusters", "100000000", "`$.clusters`: Expected `int` >= 1 and <= 4,096"),
        ("a100-sxm-40gb", "dram_gbps", "1e300", "`$.dram_gbps`: Expected `float` >= 0.1 and"),
        ("a100-sxm-40gb", "sms", "100000000", "`$.sms`: Expected `int` >= 1 and <= 4,096"),
        ("a100-sxm-40gb", "loads_in_flight", "0", "`$.model.loads_in_flight`: Expected `float` > "),
        ("local-cpu", "cores", "100000000", "`$.cores`: Expected `int` >= 0 and <= 4,096"),
        ("local-cpu", "memory_bytes_per_cycle", "1e300", "`$.memory_bytes_per_cycle`: Expected"),
        ("mlu370-s4", "compile_s", "1e300", "`$.bench.compile_s`: Expected `float` > 0 and <= 100"),
        ("mlu370-s4", "int8", "100000000", "`$.macs_per_cycle.int8`: Expected `int` >= 1 and"),
        ("a100-sxm-40gb", "float16", "[1, 0]", "`$.rules.vector_lanes[...][1]`: Expected `int` >="),
        ("ascend-910b1", "float16", "100000000", "`$.cube_k[...]`: Expected `int` >= 1 and <="),
    ],
)  # fmt: skip
def test_an_absurd_number_is_refused_with_its_range(
    tmp_path: Path, chip: str, field: str, value: str, expected: str
) -> None:
    (shipped,) = HWSIM.glob(f"*/chips/{chip}.toml")
    text = shipped.read_text(encoding="utf-8")
    section = text[text.index("[rules.vector_lanes]") :] if value.startswith("[") else text
    line = next(x for x in section.splitlines() if x.startswith(f"{field} = "))
    wrong = re.sub(r"value = (\[.*?\]|[^,]*)", f"value = {value}", line)
    (tmp_path / "chip.toml").write_text(text.replace(line, wrong, 1), encoding="utf-8")
    with pytest.raises(ChipError) as error:
        load_file(tmp_path / "chip.toml")
    assert str(error.value).startswith(f"{tmp_path / 'chip.toml'}: {expected}")
    assert "\n" not in str(error.value)


def test_all_missing_fields_are_named_at_once(tmp_path: Path) -> None:
    lines = B1.read_text(encoding="utf-8").splitlines(keepends=True)
    gone = ("ub_kib", "clock_mhz", "run_ns", "[noise]", "sigma", "outlier")
    file = tmp_path / "chip.toml"
    file.write_text("".join(x for x in lines if not x.startswith(gone)), encoding="utf-8")
    with pytest.raises(ChipError) as error:
        load_file(file)
    movers = ("gm_l1", "gm_ub", "ub_gm", "l0c_gm", "l1_l0a", "l1_l0b")
    paths = ["noise", "clock_mhz", "ub_kib", *(f"{mover}.run_ns" for mover in movers)]
    assert str(error.value) == f"{file}: missing fields " + ", ".join(f"`$.{p}`" for p in paths)


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
