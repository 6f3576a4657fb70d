"""The pruner against published measurements: ``PRUNELAB_MEASURED`` names their folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from hwsim.chips import load_chip
from hwsim.fidelity.data import MeasuredError, Part
from hwsim.fidelity.report import datasets
from hwsim.gpu_sm.gemm import clblast_gemm
from pruner.draft import draft_us
from tuner.bench.silicon import _problems, spaces, table

FOLDER = os.environ.get("PRUNELAB_MEASURED", "")
SIZES = {
    "MWG": [16, 32, 64, 128] * 8, "NWG": [64] * 32, "KWG": [16] * 32, "MDIMC": [8] * 32,
    "NDIMC": [8] * 32, "MDIMA": [8] * 32, "NDIMB": [8] * 32, "VWM": [1, 1, 1, 1, 2, 2, 2, 2] * 4,
    "VWN": [1] * 32, "SA": [1] * 16 + [0] * 16, "SB": [1] * 32,
}  # fmt: skip


def made_up(groups: np.ndarray | None) -> Part:
    """32 schedules, the second the best, the last failed."""
    measured = np.linspace(200.0, 300.0, 32)
    measured[1], measured[-1] = 100.0, np.nan
    failed = np.zeros(32, dtype=np.int64)
    failed[-1] = 2
    kernels = clblast_gemm(SIZES, 1024, 1024, 1024)
    return Part(load_chip("rtx-3090"), kernels, measured, groups=groups, failed=failed)


def test_every_problem_counts_for_itself() -> None:
    (space,) = _problems("made-up", "validation", made_up(np.zeros(32)))
    assert (space.schedules, space.failed, space.near) == (32, 1, 1)
    assert space.random[1] == 1.0
    assert 1.0 <= space.first[1] <= space.first[0] <= 3.0
    assert not list(_problems("made-up", "validation", made_up(np.repeat([0, 1], 16))))
    assert not list(_problems("made-up", "validation", made_up(None)))
    head, line, row = table(iter([space]))
    assert head.count("|") == line.count("|") == row.count("|")


def test_a_folder_without_measurements_is_told(tmp_path: Path) -> None:
    with pytest.raises(MeasuredError, match=r"no \.csv"):
        list(spaces(tmp_path))


measured = pytest.mark.skipif(
    not FOLDER, reason="published measurements are not part of the project: set PRUNELAB_MEASURED"
)


@measured
def test_real_chips_lose_nothing_and_the_draft_beats_chance() -> None:
    found = list(spaces(Path(FOLDER)))
    assert len(found) >= 3
    for space in found:
        assert space.near_pruned == space.ran_pruned == 0, space
        assert space.regret == 0
        assert space.spearman > 0.5
        assert space.first[0] < space.random[0]


@measured
def test_the_draft_orders_the_tiles_of_real_mlus() -> None:
    """All 26 of the experiments, five problems together, as the simulator's report has them."""
    parts = [p for name, p in datasets(Path(FOLDER), "validation") if name == "tile_experiments"]
    (part,) = (p for p in parts if isinstance(p, Part) and p.measure == "latency")
    draft = draft_us(part.table, part.chip)
    assert spearmanr(draft, part.measured).statistic > 0.95
