"""The 38 features: named, finite, the same meaning on every backend, right on small kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hwsim.ascend_cube import tiles as ascend
from hwsim.chips import load_chip
from hwsim.gpu_sm.gemm import clblast_gemm
from hwsim.mlu_sram.kernels import matmul_table
from hwsim.mlu_sram.tiles import MatmulTiles
from hwsim.table import KernelTable
from pruner.features import FEATURE_NAMES, FEATURES, features, row_features
from pruner.testing import random_table

CHIPS: dict[str, Any] = {
    "ascend_cube": load_chip("ascend-910b1"),
    "mlu_sram": load_chip("mlu370-s4"),
    "gpu_sm": load_chip("a100-sxm-40gb"),
}


def of(table: KernelTable, candidate: int = 0) -> dict[str, float]:
    row = features(table, CHIPS[table.backend])[candidate]
    return dict(zip(FEATURE_NAMES, row.tolist(), strict=True))


def test_there_are_38_documented_features() -> None:
    assert len(FEATURES) == len(set(FEATURE_NAMES)) == 38
    assert all(f.unit and f.doc and f.how in (np.add, np.maximum, np.minimum) for f in FEATURES)


@pytest.mark.parametrize("backend", CHIPS)
def test_finite_float32_and_empty_tables(backend: str) -> None:
    table = random_table(backend, 100, np.random.default_rng(3))
    x = features(table, CHIPS[backend])
    assert x.shape == (100, 38)
    assert x.dtype == np.float32
    assert np.isfinite(x).all()
    assert features(random_table(backend, 0, np.random.default_rng(3)), CHIPS[backend]).shape == (
        0,
        38,
    )
    assert set(row_features(table, CHIPS[backend])) == set(FEATURE_NAMES)


@pytest.mark.parametrize("backend", CHIPS)
def test_a_candidate_does_not_depend_on_its_company(backend: str) -> None:
    table = random_table(backend, 50, np.random.default_rng(4))
    x = features(table, CHIPS[backend])
    some = [41, 3, 7]
    assert np.array_equal(features(table.take_candidates(some), CHIPS[backend]), x[some])


def test_two_kernels_of_a_candidate_add_up_and_the_worst_counts() -> None:
    columns = {"macs": [1e9, 3e9], "macs_useful": [1e9, 1.5e9], "blocks": 108, "threads": 64}
    both = of(KernelTable.of("gpu_sm", candidate=[0, 0], **columns))
    apart = KernelTable.of("gpu_sm", **columns)
    one, two = of(apart, 0), of(apart, 1)
    assert both["compute_us"] == pytest.approx(one["compute_us"] + two["compute_us"])
    assert both["padding_waste"] == two["padding_waste"] == pytest.approx(0.5)
    assert one["padding_waste"] == 0


def gpu(**changes: int) -> KernelTable:
    names = ("MWG", "NWG", "KWG", "MDIMC", "NDIMC", "MDIMA", "NDIMB", "VWM", "VWN", "SA", "SB")
    base = dict(zip(names, (64, 64, 16, 16, 16, 16, 16, 1, 1, 1, 1), strict=True))
    return clblast_gemm({k: [v] for k, v in (base | changes).items()}, 1024, 1024, 1024)


def cube(**changes: int) -> KernelTable:
    base = ascend.MatmulTiling(4, 6, base_m=128, base_n=128, base_k=64, depth_a1=2, depth_b1=2)
    tiling = replace(base, **changes)
    return ascend.matmul_table(1024, 1536, 1024, "float16", tiling, trans_b=True)


def mlu(**changes: Any) -> KernelTable:
    base = MatmulTiles(m=1024, n=1024, k=1024, tile_m=64, tile_n=256, tile_k=128)
    return matmul_table([replace(base, **changes)], CHIPS["mlu_sram"])


@pytest.mark.parametrize("make", [gpu, cube, mlu])
def test_a_matmul_has_its_arithmetic(make: Any) -> None:
    table = make()
    f = of(table)
    assert f["least_us"] >= f["ideal_us"] * 0.999
    assert f["compute_us"] >= f["ideal_us"] * 0.999
    assert 0 < f["wave_fill"] <= 1
    assert 0 < f["core_share"] <= 1
    assert 0 < f["line_use"] <= 1
    assert f["l2_reuse"] >= 0.999  # nothing is touched less than once
    moved_us = f["read_us"] + f["write_us"]
    assert moved_us / f["unique_us"] == pytest.approx(f["l2_reuse"], rel=1e-4)


@pytest.mark.parametrize(
    ("make", "feature", "small", "large"),
    [
        (gpu, "intensity", {"MWG": 32, "NWG": 32}, {"MWG": 128, "NWG": 128}),
        (cube, "intensity", {"base_m": 64}, {"base_m": 256}),
        (mlu, "intensity", {"tile_m": 32}, {"tile_m": 128}),
        (cube, "stage_depth", {"depth_a1": 1, "depth_b1": 1}, {"depth_a1": 2, "depth_b1": 2}),
        (cube, "operand_share", {"base_k": 32}, {"base_k": 128}),
        (cube, "accumulator_share", {"base_n": 64}, {"base_n": 256}),
        (gpu, "staging_share", {"KWG": 16}, {"KWG": 32}),
        (gpu, "accumulator_share", {"MWG": 32}, {"MWG": 128}),
        (cube, "transfer_bytes", {"base_m": 64}, {"base_m": 256}),
        (cube, "core_share", {"split_n": 3}, {"split_n": 6}),
    ],
)
def test_features_follow_the_tiles(
    make: Any, feature: str, small: dict[str, int], large: dict[str, int]
) -> None:
    assert of(make(**small))[feature] < of(make(**large))[feature]


def test_shared_memory_conflicts_show() -> None:
    """Without staging there is no shared-memory access to conflict."""
    assert of(gpu(SA=0, SB=0))["conflict_ways"] == 1
    assert of(gpu())["conflict_ways"] >= 1
