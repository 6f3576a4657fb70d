"""The MLU model against published kernels: ``PRUNELAB_MEASURED`` names the folder with ``mlu/``."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from hwsim.chip import ChipError
from hwsim.mlu_sram.analytical import simulate
from hwsim.mlu_sram.published import chip_of, experiment_tiles, ladder_step, tile_experiment
from hwsim.mlu_sram.tiles import MatmulTiles
from hwsim.outcome import latencies_us
from hwsim.table import KernelTable

FOLDER = os.environ.get("PRUNELAB_MEASURED", "")
needs_data = pytest.mark.skipif(
    not FOLDER, reason="published measurements are not part of the project: set PRUNELAB_MEASURED"
)


def rows(name: str) -> list[dict[str, str]]:
    with (Path(FOLDER) / "mlu" / "validation" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


Known = list[tuple[float, float]]  # predicted and measured, us


def predicted_us(table: KernelTable, row: dict[str, str]) -> float:
    return float(latencies_us(table, simulate(table, chip_of(row)))[0])


def tile_experiments() -> Known:
    found = [(tile_experiment(row), row) for row in rows("tile_experiments.csv")]
    return [(predicted_us(t, r), float(r["time_us_best"])) for t, r in found if t is not None]


def ladder() -> Known:
    found = [(ladder_step(row), row) for row in rows("bang_ladder.csv")]
    return [(predicted_us(t, r), 1e3 * float(r["mlu_ms"])) for t, r in found if t is not None]


@needs_data
def test_tile_experiments_are_ranked_and_within_a_quarter() -> None:
    model, real = np.array(tile_experiments()).T
    long = real > 1000
    assert len(real) >= 25
    assert spearmanr(model, real)[0] >= 0.9
    assert np.mean(np.abs(model / real - 1)[long]) <= 0.25


@needs_data
def test_long_steps_of_the_ladder_are_within_a_quarter() -> None:
    long = [(model, real) for model, real in ladder() if real > 1000]
    assert len(long) >= 3
    assert max(abs(model / real - 1) for model, real in long) <= 0.25


EXPERIMENT = {
    "chip": "MLU370-X4K", "M": "1024", "N": "2048", "K": "4096", "a_layout": "col (A^T given)",
    "b_layout": "B^T given", "dtype_in": "fp16", "dtype_acc": "fp32", "dtype_out": "fp32",
    "TM": "64", "TN": "256", "TK": "128", "RB": "4", "output_tasks": "32", "launch_tasks": "32",
    "launch_type": "Union1", "async_double_buffer": "0", "split_k": "1", "b_prepacked": "1",
    "note": "kprep:48x1x1:Block",
}  # fmt: skip


def test_a_row_becomes_its_tiles() -> None:
    tiles = experiment_tiles(EXPERIMENT)
    assert tiles == MatmulTiles(
        m=1024, n=2048, k=4096, tile_m=64, tile_n=256, tile_k=128, row_blocks=4, launch_tasks=32,
        union=True, b_prepacked=True, prepack_tasks=48, a_transposed=True, b_transposed=True,
    )  # fmt: skip
    table = tile_experiment(EXPERIMENT)
    assert table is not None
    assert table["candidate"].tolist() == [0, 0]
    assert experiment_tiles(EXPERIMENT | {"TM": ""}) is None


def test_fewer_output_tasks_than_tiles_are_a_triangle() -> None:
    tiles = experiment_tiles(EXPERIMENT | {"output_tasks": "18"})
    assert tiles is not None
    assert (tiles.tasks, tiles.k_steps) == (18, 11)


def test_the_chip_is_that_of_the_row_at_its_clock() -> None:
    assert chip_of(EXPERIMENT).name == "mlu370-x4"
    assert chip_of({"chip": "MLU370-X8", "clock_mhz": "1000"}).clock_mhz == 1000
    with pytest.raises(ChipError, match="MLU999"):
        chip_of({"chip": "MLU999"})
