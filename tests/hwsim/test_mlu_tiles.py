"""Tile parameters to kernel tables: amounts that can be counted by hand, and refusals."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from hwsim.chips import load_chip
from hwsim.mlu_sram.analytical import simulate
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.kernels import matmul_table
from hwsim.mlu_sram.streaming import StreamTiles, streaming_table
from hwsim.mlu_sram.tiles import MatmulTiles, TileError
from hwsim.outcome import latencies_us

SQUARE = MatmulTiles(m=2048, n=2048, k=2048, tile_m=128, tile_n=256, tile_k=128, row_blocks=2)


@pytest.fixture(scope="module")
def x4() -> MluChip:
    chip = load_chip("mlu370-x4")
    assert isinstance(chip, MluChip)
    return chip


def row(tiles: MatmulTiles, chip: MluChip, index: int = 0) -> dict[str, float]:
    return matmul_table([tiles], chip).row(index)


def test_amounts_of_a_square_matmul(x4: MluChip) -> None:
    r = row(SQUARE, x4)
    assert SQUARE.tasks == 64  # 8 groups of rows, 8 columns: two for each of the 32 cores
    assert (r["blocks"], r["out_tiles"], r["k_steps"], r["work_share"]) == (32, 2, 16, 1)
    assert r["macs"] == r["macs_useful"] == 2048**3
    assert r["a_gdram_nram_count"] == r["mm_count"] == 2 * 16 * 2
    assert r["b_gdram_wram_count"] == 2 * 16
    assert r["a_gdram_nram_bytes"] == 128 * 128 * 2
    assert r["a_gdram_nram_run_bytes"] == 256
    assert r["b_gdram_wram_run_bytes"] == 512
    assert r["c_nram_gdram_bytes"] == 128 * 256 * 4
    assert r["vec_count"] == r["mm_count"]
    assert r["a_gdram_nram_unique_bytes"] == r["b_gdram_wram_unique_bytes"] == 2048 * 2048 * 2


def test_odd_rows_are_misaligned_and_whole_rows_are_one_run(x4: MluChip) -> None:
    odd = row(dataclasses.replace(SQUARE, k=2049, n=1001), x4)
    assert odd["a_gdram_nram_align_bytes"] == 2
    assert odd["c_nram_gdram_align_bytes"] == 4
    short = row(dataclasses.replace(SQUARE, k=32, tile_k=32), x4)
    assert short["a_gdram_nram_run_bytes"] == short["a_gdram_nram_bytes"] == 128 * 32 * 2


@pytest.mark.parametrize(
    ("launched", "busiest"), [(16, 4), (32, 2), (64, 2), (128, 2), (20, 4), (1, 64)]
)
def test_busiest_core(x4: MluChip, launched: int, busiest: int) -> None:
    r = row(dataclasses.replace(SQUARE, launch_tasks=launched), x4)
    assert r["out_tiles"] == busiest
    assert r["blocks"] * r["out_tiles"] * r["work_share"] == pytest.approx(64)


def test_a_b_tile_that_covers_k_stays_for_its_column(x4: MluChip) -> None:
    tall = MatmulTiles(m=65536, n=256, k=64, tile_m=128, tile_n=256, tile_k=64)
    assert row(tall, x4)["b_gdram_wram_count"] == 1


def test_prepacking_and_split_k_add_kernels(x4: MluChip) -> None:
    both = dataclasses.replace(SQUARE, b_prepacked=True, split_k=4)
    table = matmul_table([SQUARE, both], x4)
    assert table["candidate"].tolist() == [0, 1, 1, 1]
    prepack, main, reduce = (table.row(i) for i in (1, 2, 3))
    assert prepack["blocks"] * prepack["out_tiles"] * prepack["work_share"] == 16 * 8
    assert main["rearrange_count"] == 0
    assert reduce["alu_ops"] == 2048 * 2048 * 3
    assert np.isfinite(latencies_us(table, simulate(table, x4))).all()


def test_cores_of_a_union_share_one_b_tile(x4: MluChip) -> None:
    shared = dataclasses.replace(SQUARE, union=True, sram_a=True, sram_b=True, double_buffer=True)
    r = row(shared, x4)
    assert (r["clusters"], r["cores_per_cluster"]) == (8, 4)
    assert r["b_gdram_sram_bytes"] * 4 == r["b_sram_wram_bytes"] == 128 * 256 * 2
    assert r["sram_bytes"] == 4 * 128 * 128 * 2 + 128 * 256 * 2
    assert r["sram_buffers"] == 2


def test_a_batch_is_as_many_matmuls(x4: MluChip) -> None:
    one, four = row(SQUARE, x4), row(dataclasses.replace(SQUARE, batch=4), x4)
    for name in ("macs", "macs_useful", "out_tiles", "a_gdram_nram_unique_bytes"):
        assert four[name] == 4 * one[name]


def test_elementwise_kernels(x4: MluChip) -> None:
    add = StreamTiles(elements=2**22, piece=2**16, inputs=2)
    table = streaming_table([add, dataclasses.replace(add, double_buffer=True)], x4)
    result = simulate(table, x4)
    assert [result.bottleneck_names[b] for b in result.bottleneck] == ["ddr", "ddr"]
    assert result.counters["ddr_bytes"].tolist() == [3 * 2**23] * 2
    assert result.latency_us[1] < result.latency_us[0]
    assert result.counters["ddr_utilisation"].min() > 0.75
    special = simulate(streaming_table([dataclasses.replace(add, special_passes=1)], x4), x4)
    extra = special.counters["vector_us"][0] / result.counters["vector_us"][0]
    assert extra == pytest.approx(x4.special_slowdown, rel=0.1)
    with pytest.raises(TileError, match="piece is 0, expected 1 or more"):
        dataclasses.replace(add, piece=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tile_m": 0}, "tile_m is 0, expected 1 or more"),
        ({"launch_tasks": -1}, "launch_tasks is -1, expected 0 or more"),
        ({"k_share": 0.0}, "k_share is 0.0, expected above 0"),
        ({"sram_b": True}, "sram_a and sram_b need union"),
    ],
)
def test_refusals(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TileError, match=message):
        dataclasses.replace(SQUARE, **changes)


def test_doctest_of_the_module() -> None:
    import doctest

    import hwsim.mlu_sram.tiles

    assert doctest.testmod(hwsim.mlu_sram.tiles).failed == 0
