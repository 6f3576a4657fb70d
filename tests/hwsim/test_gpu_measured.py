"""The GPU model against published kernels: ``PRUNELAB_MEASURED`` names the folder with ``gpu/``."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from hwsim.fidelity import Entry, measure_folder

FOLDER = os.environ.get("PRUNELAB_MEASURED", "")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="published measurements are not part of the project: set PRUNELAB_MEASURED"
)


@cache
def entries(part: str) -> tuple[Entry, ...]:
    return tuple(measure_folder(Path(FOLDER), part))


def found(part: str, dataset: str, measure: str) -> list[Entry]:
    chosen = [e for e in entries(part) if (e.dataset, e.measure) == (dataset, measure)]
    assert chosen, f"{dataset} has no {measure}"
    return chosen


@pytest.mark.parametrize(
    ("dataset", "measure"),
    [
        ("neusight_linear", "linear_from_100_us"),
        ("neusight_bmm", "bmm_from_100_us"),
        *(("neusight_vec", op) for op in ("softmax", "ln", "add")),
    ],
)
def test_library_kernels_are_within_a_fifth(dataset: str, measure: str) -> None:
    for entry in found("validation", dataset, measure):
        assert entry.scores.mape is not None, entry.chip
        assert entry.scores.mape <= 0.20, entry.chip


def test_a_space_of_gemm_schedules_is_ranked() -> None:
    (entry,) = found("validation", "bh_gemm_fp32_4096_RTX_2080_Ti", "latency")
    scores = entry.scores
    assert scores.n == 17_956
    assert (scores.spearman or 0) >= 0.95
    assert (scores.optimum_rank_share or 0) <= 0.03
    assert (scores.predicted_best_slowdown or 0) <= 1.15


def test_a_space_of_convolutions_is_ranked_and_its_compile_failures_are_known() -> None:
    (entry,) = found("validation", "bh_conv_A100", "latency")
    assert (entry.scores.spearman or 0) >= 0.90
    assert entry.failures["compile_error"] == {"measured": 6, "predicted": 6}


def test_counters_where_nothing_spills() -> None:
    """In the mean, which is sterner than in the median."""
    for measure, bound in (("fma_count", 1e-3), ("shared_wavefronts", 0.10), ("dram_sectors", 0.2)):
        (entry,) = found("calibration", "ktt_conv_2080Ti", measure)
        assert entry.scores.mape is not None
        assert entry.scores.mape <= bound, measure
