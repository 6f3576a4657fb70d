"""The MLU model against published kernels: ``PRUNELAB_MEASURED`` names the folder with ``mlu/``."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from hwsim.chips import load_chip
from hwsim.mlu_sram.analytical import simulate
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.kernels import matmul_table
from hwsim.mlu_sram.published import ladder_step, tile_experiment
from hwsim.mlu_sram.tiles import MatmulTiles
from hwsim.outcome import latencies_us

FOLDER = os.environ.get("PRUNELAB_MEASURED", "")
needs_data = pytest.mark.skipif(
    not FOLDER, reason="published measurements are not part of the project: set PRUNELAB_MEASURED"
)


def rows(name: str) -> list[dict[str, str]]:
    with (Path(FOLDER) / "mlu" / "validation" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def predicted_us(tiles: list[MatmulTiles]) -> np.ndarray:
    chip = load_chip("mlu370-x4")
    assert isinstance(chip, MluChip)
    table = matmul_table(tiles, chip)
    return latencies_us(table, simulate(table, chip))


@needs_data
def test_tile_experiments_are_ranked_and_within_a_quarter() -> None:
    kernels = [
        (tile_experiment(row), float(row["time_us_best"])) for row in rows("tile_experiments.csv")
    ]
    known = [(tiles, us) for tiles, us in kernels if tiles is not None]
    model = predicted_us([tiles for tiles, _ in known])
    real = np.array([us for _, us in known])
    long = real > 1000
    assert len(known) >= 25
    assert spearmanr(model, real)[0] >= 0.9
    assert np.mean(np.abs(model / real - 1)[long]) <= 0.25


@needs_data
def test_long_steps_of_the_ladder_are_within_a_quarter() -> None:
    steps = [(ladder_step(row), 1e3 * float(row["mlu_ms"])) for row in rows("bang_ladder.csv")]
    long = [(tiles, us) for tiles, us in steps if tiles is not None and us > 1000]
    model = predicted_us([tiles for tiles, _ in long])
    assert np.abs(model / [us for _, us in long] - 1).max() <= 0.25
