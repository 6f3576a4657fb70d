"""The Ascend model against published kernels: ``PRUNELAB_MEASURED`` names the folder."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from hwsim.ascend_cube.analytical import simulate
from hwsim.ascend_cube.published import (
    add_case,
    catlass_case,
    chip_name,
    guide_case,
    tiling_case,
)
from hwsim.chips import load_chip
from hwsim.table import KernelTable

FOLDER = os.environ.get("PRUNELAB_MEASURED", "")
needs_data = pytest.mark.skipif(
    not FOLDER, reason="published measurements are not part of the project: set PRUNELAB_MEASURED"
)


@dataclass(frozen=True)
class Case:
    """One row: what was measured, what the model says, and its counters."""

    row: dict[str, str]
    predicted_us: float
    measured_us: float
    counters: dict[str, float]

    @property
    def error(self) -> float:
        return abs(self.predicted_us / self.measured_us - 1)


def cases(
    name: str,
    table_of: Callable[[dict[str, str]], KernelTable | None],
    time: str,
    counter: str = "",
) -> list[Case]:
    found = []
    file = Path(FOLDER) / "ascend" / "validation" / f"{name}.csv"
    with file.open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            table = table_of(row)
            if table is None or not row[time]:
                continue
            result = simulate(table, load_chip(chip_name(row)))
            counters = {k: float(v[0]) for k, v in result.counters.items()}
            predicted = counters[counter] if counter else float(result.latency_us[0])
            found.append(Case(row, predicted, float(row[time]), counters))
    return found


def mape(errors: list[float]) -> float:
    return float(np.mean(errors))


@needs_data
def test_tiling_cases_are_within_a_quarter_each_and_in_the_right_order() -> None:
    found = cases("matmul_tiling_910b1", tiling_case, "task_us")
    found += cases("matmul_basic_api_a2", tiling_case, "task_us")
    assert len(found) >= 9
    assert max(c.error for c in found) <= 0.25
    assert mape([c.error for c in found]) <= 0.12
    for faster in found:
        for slower in found:
            if slower.measured_us > 1.05 * faster.measured_us:
                assert slower.predicted_us > faster.predicted_us


@needs_data
@pytest.mark.parametrize(("pipe", "column"), [("mac", "mac"), ("mte1", "mte1"), ("mte2", "mte2")])
def test_pipe_times_of_the_tiling_cases(pipe: str, column: str) -> None:
    found = cases("matmul_tiling_910b1", tiling_case, "task_us")
    errors = [abs(c.counters[f"{pipe}_us"] / float(c.row[f"{column}_us"]) - 1) for c in found]
    assert mape(errors) <= 0.15


@needs_data
def test_other_matmuls_are_ranked_and_within_a_quarter() -> None:
    found = cases("catlass_gemm", catlass_case, "time_us")
    found += cases("matmul_guide_cases_a2", guide_case, "aic_time_us", "core_us")
    assert len(found) >= 26
    predicted = [c.predicted_us for c in found]
    assert spearmanr(predicted, [c.measured_us for c in found])[0] >= 0.9
    assert mape([c.error for c in found]) <= 0.25


@needs_data
def test_vector_add_from_one_core_to_all() -> None:
    found = [c for c in cases("add_8192_a2", add_case, "task_us") if "vector" in c.row.values()]
    assert len(found) == 3
    assert max(c.error for c in found) <= 0.25
