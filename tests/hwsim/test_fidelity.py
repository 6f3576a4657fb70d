"""Fidelity reports: every kind of file is read, nothing is dropped, scores are what they say."""

from __future__ import annotations

import contextlib
import gzip
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwsim.chip import ChipError
from hwsim.chips import load_chip
from hwsim.fidelity import Entry, MeasuredError, measure_folder
from hwsim.fidelity.data import UNREADABLE, Source, load, stem
from hwsim.fidelity.kinds import read
from hwsim.fidelity.measures import score
from hwsim.fidelity.report import PARTS
from hwsim.fidelity.shelf import Shelf

from .measured_folder import FILES, write_folder

RAW = ("could not convert", "cannot convert", "invalid literal", "Python int", "not finite")
CHIPS = Path(__file__).parents[2] / "hwsim" / "gpu_sm" / "chips"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_folder(tmp_path_factory.mktemp("measured"))
    text = (CHIPS / "rtx-2080-ti.toml").read_text(encoding="utf-8")
    (root / "chips").mkdir()
    (root / "chips" / "my-gpu.toml").write_text(text.replace('"rtx-2080-ti"', '"my-gpu"', 1))
    return root


@pytest.fixture(scope="module")
def entries(folder: Path) -> list[Entry]:
    return measure_folder(folder, "validation")


def one(entries: list[Entry], dataset: str, chip: str, measure: str = "latency") -> Entry:
    (found,) = [e for e in entries if (e.dataset, e.chip, e.measure) == (dataset, chip, measure)]
    return found


def test_every_file_has_an_entry(folder: Path, entries: list[Entry]) -> None:
    calibration = measure_folder(folder, "calibration")
    for part, found in (("validation", entries), ("calibration", calibration)):
        files = {stem(Path(name)) for name in FILES if f"/{part}/" in name}
        assert {e.dataset for e in found} == files
        assert {e.part for e in found} == {part}


@pytest.mark.parametrize(
    ("dataset", "chip", "measure"),
    [
        ("bh_conv_A100", "a100-pcie-40gb", "latency"),
        ("bh_convold_RTX_3090", "rtx-3090", "latency_at_boost"),
        ("bh_gemm_fp32_1024_my-gpu", "my-gpu", "latency"),
        ("bh_dedisp_A100", "a100-pcie-40gb", "latency"),
        ("neusight_linear", "h100-sxm", "linear_from_100_us"),
        ("neusight_linear", "l4", "linear_below_100_us"),
        ("neusight_vec", "v100-pcie", "softmax"),
        ("neusight_h100_fp16_bmm", "h100-sxm", "bmm"),
        ("llmcompass_measured", "a100-sxm-80gb", "matmul"),
        ("llmcompass_measured", "a100-sxm-80gb", "gelu"),
        ("deepbench_gemm", "p100-sxm2", "fp32"),
        ("deepbench_gemm", "v100-sxm2", "fp16_tensorcore_fp32acc"),
        ("tophub_cuda_1080ti", "gtx-1080-ti", "latency"),
        ("matmul_tiling_910b1", "ascend-910b1", "mac_us"),
        ("matmul_gelu_a2", "ascend-910b1", "latency"),
        ("quant_group_matmul_a2", "ascend-910b1", "latency"),
        ("tile_experiments", "mlu370-x4", "latency_from_1000_us"),
        ("bang_ladder", "mlu370-x8", "latency"),
    ],
)
def test_kinds_are_predicted(entries: list[Entry], dataset: str, chip: str, measure: str) -> None:
    found = one(entries, dataset, chip, measure)
    assert found.scores.n >= 1
    assert found.scores.false_failures == 0
    assert found.scores.mape is not None
    assert found.scores.mape < 1  # made-up times, of the right order


@pytest.mark.parametrize(
    ("dataset", "chip", "rows", "reason"),
    [
        ("bh_conv_MI250X", "MI250X", 1, "no chip file for 'MI250X'"),
        ("bh_conv_mlu370-x4", "mlu370-x4", 1, "mlu370-x4 is a mlu_sram chip"),
        ("llmcompass_measured", "MI210", 1, "no chip file for 'MI210'"),
        ("neusight_linear", "TPU", 1, "no chip file for 'TPU'"),
        ("neusight_linear", "l4", 1, "nothing measured"),
        ("neusight_vec", "v100-pcie", 1, "op 'gather': no kernels known"),
        ("bh_conv_A100", "a100-pcie-40gb", 1, "no number from 1"),
        ("deepbench_gemm", "v100-sxm2", 1, "dtype 'fp4'"),
        ("tophub_cuda_1080ti", "gtx-1080-ti", 2, "only conv2d_nchw and batch_matmul"),
        ("matmul_tiling_910b1", "Ascend310P", 1, "no chip file for 'Ascend310P'"),
        ("tile_experiments", "mlu370-x4", 1, "gives no tile parameters"),
        ("bang_ladder", "mlu370-x4", 1, "scalar code"),
        ("narrow", "", 1, "neither a column nor a known value: 'dtype'"),
        ("broken", "", 0, "not readable"),
    ],
)
def test_what_is_skipped_is_counted_with_its_reason(
    entries: list[Entry], dataset: str, chip: str, rows: int, reason: str
) -> None:
    found = [e for e in entries if (e.dataset, e.chip) == (dataset, chip)]
    assert found
    for entry in found:
        assert entry.skipped == sum(entry.reasons.values()) == rows
        assert any(reason in text for text in entry.reasons)


def test_every_row_is_compared_failed_or_skipped(folder: Path, entries: list[Entry]) -> None:
    for path in folder.glob("gpu/validation/bh_*"):
        rows = len(load(path).frame)
        found = [e for e in entries if e.dataset == stem(path) and e.measure == "latency"]
        failed = sum(f["measured"] for e in found for f in e.failures.values())
        assert sum(e.scores.n + e.skipped for e in found) + failed == rows


@pytest.mark.parametrize("cell", [None, "abc", "0", "99999999999999999999"])
def test_a_column_that_is_missing_or_nonsense_is_a_reason(folder: Path, cell: str | None) -> None:
    shelf = Shelf(folder / "chips")
    slow = {"deepbench_gemm", "llmcompass_measured", "neusight_h100_fp16_bmm"}  # try all tiles
    for path in (p for p in folder.glob("*/*/*.csv*") if stem(p) not in slow | {"broken"}):
        source = load(path)
        for column in source.frame:
            other = source.frame.drop(columns=[column])
            if cell is not None:
                other = source.frame.assign(**{str(column): cell})
            with contextlib.suppress(*UNREADABLE):  # what skips the whole file
                assert list(read(Source(source.name, other), shelf))


@pytest.mark.parametrize(
    "cell", ["1e-320", "1e308", "1e400", "nan", "-1", "0.5", "9" * 30, "[1,2]", '["a",1,2,3]']
)
def test_odd_cells_leave_no_infinity_no_warning_and_reasons_in_words(
    tmp_path: Path, cell: str
) -> None:
    """Every cell of a row in turn: of a table of n columns come n rows with one odd cell each."""
    for path in (p for p in write_folder(tmp_path).glob("*/*/*.csv*") if stem(p) != "broken"):
        frame = load(path).frame
        rows = frame.iloc[[0] * len(frame.columns)].reset_index(drop=True)
        for column in range(len(frame.columns)):
            rows.iloc[column, column] = cell
        rows.to_csv(path, index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        entries = [e for part in PARTS for e in measure_folder(tmp_path, part)]
    for entry in entries:
        text = json.dumps(entry.to_json(), allow_nan=False)
        assert not any(raw in text for raw in RAW)


def test_failures_are_compared_with_failures(entries: list[Entry]) -> None:
    found = one(entries, "bh_conv_A100", "a100-pcie-40gb")
    assert found.failures["compile_error"] == {"measured": 1, "predicted": 1}
    assert found.failures["launch_error"]["measured"] == 1


def test_spaces_have_ranks_and_collections_of_problems_have_none(entries: list[Entry]) -> None:
    space = one(entries, "tile_experiments", "mlu370-x4").scores
    assert space.optimum_rank_share is not None
    assert space.predicted_best_slowdown is not None
    collection = one(entries, "neusight_linear", "h100-sxm", "linear").scores
    assert collection.optimum_rank_share is None
    assert collection.predicted_best_slowdown is None


def test_json_has_the_agreed_keys(entries: list[Entry]) -> None:
    keys = {
        "dataset", "chip", "measure", "n", "mape", "spearman", "optimum_rank_share",
        "predicted_best_slowdown", "skipped",
    }  # fmt: skip
    for entry in entries:
        flat = entry.to_json()
        assert keys <= set(flat)
        assert "NaN" not in json.dumps(flat)
        assert "Infinity" not in json.dumps(flat)


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MeasuredError, match="no such folder"):
        measure_folder(tmp_path / "nowhere", "validation")
    (tmp_path / "gpu" / "validation").mkdir(parents=True)
    with pytest.raises(MeasuredError, match=r"no .csv or .csv.gz"):
        measure_folder(tmp_path, "validation")


def test_a_wrong_chip_file_is_named(tmp_path: Path) -> None:
    write_folder(tmp_path, "bang_ladder")
    (tmp_path / "chips").mkdir()
    (tmp_path / "chips" / "x.toml").write_text("name = 3\n")
    with pytest.raises(ChipError, match=r"x\.toml"):
        measure_folder(tmp_path, "validation")


def test_damaged_files_are_refused_in_one_line(tmp_path: Path) -> None:
    whole = gzip.compress(b"device,op,M,N,latency_ms,gelem_per_s\nA100,gelu,4096,,0.1,1\n" * 50)
    for name, data in {
        "cut.csv.gz": whole[:-20], "flipped.csv.gz": whole[:30] + b"\xff" * 30 + whole[60:],
        "plain.csv.gz": b"a,b\n1,2\n", "empty.csv": b"", "latin.csv": b"a,b\n\xe9,2\n",
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)
        with pytest.raises(MeasuredError, match=r"^not readable: [^\n]+$"):
            load(tmp_path / name)


def test_spaces_and_a_mark_of_byte_order_are_no_part_of_cells(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfdevice , op\r\nA100, gelu\r\n")
    frame = load(tmp_path / "a.csv").frame
    assert frame.to_dict("records") == [{"device": "A100", "op": "gelu"}]


def test_one_reader_takes_a_file(folder: Path) -> None:
    shelf = Shelf(folder / "chips")
    for path in folder.glob("*/validation/*.csv*"):
        if path.name not in ("broken.csv", "narrow.csv"):
            assert list(read(load(path), shelf))


@pytest.mark.parametrize(
    ("device", "chip"),
    [
        ("A100-PCIE-40GB", "a100-pcie-40gb"), ("A100-PCIE-80GB", "a100-pcie-80gb"),
        ("V100-PCIE-32GB", "v100-pcie"), ("H100", "h100-sxm"), ("T4", "t4"), ("L4", "l4"),
        ("RTX_2080_Ti", "rtx-2080-ti"), ("2080Ti", "rtx-2080-ti"), ("RTX_Titan", "titan-rtx"),
        ("RTX_3060_laptop", "rtx-3060-laptop"), ("A4000", "rtx-a4000"), ("A6000", "rtx-a6000"),
        ("1080ti", "gtx-1080-ti"), ("v100", "v100-sxm2"), ("P100", "p100-sxm2"),
        ("MLU370-X4", "mlu370-x4"), ("Tesla V100-SXM2-32GB", "v100-sxm2"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"), ("NVIDIA GeForce RTX 3090", "rtx-3090"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"), ("NVIDIA H100 80GB HBM3", "h100-sxm"),
    ],
)  # fmt: skip
def test_devices_are_found_under_their_public_names(device: str, chip: str) -> None:
    assert Shelf().find(device, load_chip(chip).backend).name == chip


def test_an_unknown_device_is_named() -> None:
    with pytest.raises(ChipError, match="MI250X"):
        Shelf().find("MI250X", "gpu_sm")


def test_shipped_chips_come_first(folder: Path) -> None:
    shelf = Shelf(folder / "chips")
    assert shelf.find("my_gpu", "gpu_sm").name == "my-gpu"
    assert shelf.find("RTX_2080_Ti", "gpu_sm") == load_chip("rtx-2080-ti")


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_scores_by_hand() -> None:
    found = score(array(1, 2, 3, 5), array(2, 1, 3, 4), np.zeros(4, dtype=np.int64))
    assert found.n == 4
    assert found.mape == pytest.approx((0.5 + 1 + 0 + 0.25) / 4)
    assert found.median_ape == pytest.approx(0.375)
    assert found.spearman == pytest.approx(0.8)
    assert found.optimum_rank_share == pytest.approx(1 / 4)
    assert found.predicted_best_slowdown == pytest.approx(2.0)
    assert found.order_share == pytest.approx(5 / 6)


def test_a_wrongly_predicted_failure_ranks_last_and_is_counted() -> None:
    found = score(array(np.inf, 2, 3), array(1, 2, 3), np.zeros(3, dtype=np.int64))
    assert found.false_failures == 1
    assert found.mape == pytest.approx(0.0)
    assert found.optimum_rank_share == pytest.approx(2 / 3)
    assert found.predicted_best_slowdown == pytest.approx(2.0)


def test_saying_the_same_of_all_earns_nothing() -> None:
    found = score(np.ones(100), 1.0 + np.arange(100), np.zeros(100, dtype=np.int64))
    assert found.spearman is None
    assert found.optimum_rank_share == pytest.approx(0.495)
    assert found.predicted_best_slowdown == pytest.approx(50.5)
    assert found.order_share == 0.0


@given(st.lists(st.integers(1, 10**6), min_size=3, max_size=40, unique=True), st.floats(0.1, 10))
def test_a_constant_factor_costs_errors_and_no_ranks(times: list[int], factor: float) -> None:
    real = np.array(times, dtype=np.float64)
    found = score(factor * real, real, np.zeros(len(real), dtype=np.int64))
    assert found.mape == pytest.approx(abs(factor - 1), abs=1e-6)
    assert found.bias == pytest.approx(factor)
    assert found.spearman == pytest.approx(1.0)
    assert found.optimum_rank_share == 0.0
    assert found.predicted_best_slowdown == 1.0
