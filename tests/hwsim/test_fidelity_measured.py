"""What the models reach on published measurements: ``PRUNELAB_MEASURED`` names their folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hwsim.fidelity import Entry, measure_folder
from hwsim.fidelity.measures import Scores

FOLDER = os.environ.get("PRUNELAB_MEASURED", "")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="published measurements are not part of the project: set PRUNELAB_MEASURED"
)

# dataset, chip, measure, score, worst that is accepted
AT_MOST = [
    ("matmul_tiling_910b1", "ascend-910b1", "latency", "mape", 0.12),
    ("matmul_tiling_910b1", "ascend-910b1", "mac_us", "mape", 0.15),
    ("matmul_tiling_910b1", "ascend-910b1", "mte1_us", "mape", 0.15),
    ("matmul_tiling_910b1", "ascend-910b1", "mte2_us", "mape", 0.15),
    ("matmul_tiling_910b1", "ascend-910b1", "latency", "predicted_best_slowdown", 1.05),
    ("catlass_gemm", "ascend-910b1", "latency", "mape", 0.25),
    ("catlass_gemm", "ascend-910b3", "latency", "mape", 0.25),
    ("matmul_guide_cases_a2", "ascend-910b1", "core_us", "mape", 0.25),
    ("tile_experiments", "mlu370-x4", "latency_from_1000_us", "mape", 0.25),
    ("neusight_linear", "a100-pcie-40gb", "linear_from_100_us", "mape", 0.20),
    ("neusight_linear", "t4", "linear_from_100_us", "mape", 0.20),
    ("neusight_bmm", "a100-pcie-40gb", "bmm_from_100_us", "mape", 0.20),
    ("neusight_bmm", "t4", "bmm_from_100_us", "mape", 0.20),
    ("neusight_vec", "a100-pcie-40gb", "softmax_from_100_us", "mape", 0.20),
    ("neusight_vec", "a100-pcie-40gb", "ln_from_100_us", "mape", 0.20),
    ("neusight_vec", "a100-pcie-40gb", "add_from_100_us", "mape", 0.20),
    ("neusight_vec", "t4", "softmax_from_100_us", "mape", 0.20),
    ("neusight_vec", "t4", "ln_from_100_us", "mape", 0.20),
    ("neusight_vec", "t4", "add_from_100_us", "mape", 0.20),
    ("bh_gemm_fp32_4096_RTX_2080_Ti", "rtx-2080-ti", "latency", "optimum_rank_share", 0.03),
    ("bh_gemm_fp32_4096_RTX_2080_Ti", "rtx-2080-ti", "latency", "predicted_best_slowdown", 1.15),
    ("bh_conv_A100", "a100-pcie-40gb", "latency", "predicted_best_slowdown", 1.5),
    ("ktt_conv_2080Ti", "rtx-2080-ti", "fma_count", "mape", 1e-3),
    ("ktt_conv_2080Ti", "rtx-2080-ti", "shared_wavefronts", "median_ape", 0.10),
    ("ktt_conv_2080Ti", "rtx-2080-ti", "dram_sectors", "median_ape", 0.20),
]
AT_LEAST = [
    ("matmul_tiling_910b1", "ascend-910b1", "latency", "order_share", 1.0),
    ("catlass_gemm", "ascend-910b1", "latency", "spearman", 0.9),
    ("catlass_gemm", "ascend-910b3", "latency", "spearman", 0.9),
    ("matmul_guide_cases_a2", "ascend-910b1", "core_us", "spearman", 0.9),
    ("tile_experiments", "mlu370-x4", "latency", "spearman", 0.9),
    ("bh_gemm_fp32_4096_RTX_2080_Ti", "rtx-2080-ti", "latency", "spearman", 0.95),
    ("bh_conv_A100", "a100-pcie-40gb", "latency", "spearman", 0.91),
]


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    folder = Path(FOLDER)
    return [*measure_folder(folder, "validation"), *measure_folder(folder, "calibration")]


def scores(entries: list[Entry], dataset: str, chip: str, measure: str) -> Scores:
    """Validation first: a dataset may have a half of the same name for calibration."""
    found = [e for e in entries if (e.dataset, e.chip, e.measure) == (dataset, chip, measure)]
    assert found, f"{dataset} has no {measure} on {chip}"
    return found[0].scores


@pytest.mark.parametrize(("dataset", "chip", "measure", "score", "worst"), AT_MOST)
def test_errors_and_ranks_stay_below(
    entries: list[Entry], dataset: str, chip: str, measure: str, score: str, worst: float
) -> None:
    assert getattr(scores(entries, dataset, chip, measure), score) <= worst


@pytest.mark.parametrize(("dataset", "chip", "measure", "score", "least"), AT_LEAST)
def test_ranks_stay_above(
    entries: list[Entry], dataset: str, chip: str, measure: str, score: str, least: float
) -> None:
    assert getattr(scores(entries, dataset, chip, measure), score) >= least


def test_every_compile_failure_is_predicted_and_none_invented(entries: list[Entry]) -> None:
    (space,) = [e for e in entries if (e.dataset, e.measure) == ("bh_conv_A100", "latency")]
    found = space.failures["compile_error"]
    assert found["predicted"] == found["measured"] > 0
    assert space.scores.false_failures == 0


def test_nine_in_ten_launch_failures_are_predicted(entries: list[Entry]) -> None:
    (space,) = [e for e in entries if (e.dataset, e.measure) == ("bh_conv_A100", "latency")]
    found = space.failures["launch_error"]
    assert found["predicted"] >= 0.9 * found["measured"] > 0


def test_every_dataset_is_reported(entries: list[Entry]) -> None:
    assert all(e.scores.n or e.skipped for e in entries)
    assert all(e.reasons for e in entries if e.skipped)
