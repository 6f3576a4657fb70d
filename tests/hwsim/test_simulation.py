"""Both models of one candidate: kernels add up, timelines follow one another, failures are told."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from hwsim.by_hand import table_by_hand
from hwsim.chips import load_chip
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.kernels import matmul_table
from hwsim.mlu_sram.tiles import MatmulTiles
from hwsim.result import Failure
from hwsim.simulation import simulate_both
from hwsim.table import KernelTable


def mlu() -> MluChip:
    chip = load_chip("mlu370-x4")
    assert isinstance(chip, MluChip)
    return chip


def two_kernels() -> KernelTable:
    tiles = MatmulTiles(
        m=512, n=512, k=512, tile_m=128, tile_n=128, tile_k=128, b_prepacked=True
    )  # fmt: skip
    return matmul_table([tiles], mlu())


def test_kernels_of_a_candidate_add_up() -> None:
    whole = simulate_both(two_kernels(), mlu())
    parts = [simulate_both(two_kernels().take([row]), mlu()) for row in (0, 1)]
    assert len(whole.kernels) == 2
    assert whole.latency_us == pytest.approx(sum(part.latency_us for part in parts))
    assert whole.events_us == pytest.approx(sum(part.events_us for part in parts))
    assert any("kernel 2 of 2" in line for line in whole.lines())


def test_the_second_kernel_starts_when_the_first_is_over() -> None:
    found = simulate_both(two_kernels(), mlu(), timeline=True)
    first = found.kernels[0].events_us
    late = [start for unit, _, start, _ in found.spans if unit.startswith("kernel 2 ")]
    early = [end for unit, _, _, end in found.spans if not unit.startswith("kernel 2 ")]
    assert late
    assert min(late) >= first
    assert max(early) <= first
    assert all(start <= end for _, _, start, end in found.spans)


def test_no_timeline_unless_wanted() -> None:
    assert not simulate_both(two_kernels(), mlu()).spans


@pytest.mark.parametrize("chip_name", ["ascend-910b1", "rtx-3090"])
def test_timelines_of_the_other_backends(chip_name: str) -> None:
    chip = load_chip(chip_name)
    given = {"m": "512", "n": "512", "k": "512"}
    given |= (
        {"tile_m": "128", "tile_n": "128", "threads": "256"}
        if chip.backend == "gpu_sm"
        else {
            "dtype": "float16", "split_m": "4", "split_n": "4", "base_m": "128", "base_n": "128",
            "base_k": "64",
        }
    )  # fmt: skip
    found = simulate_both(table_by_hand(chip, "matmul", given), chip, timeline=True)
    assert found.spans
    assert found.levels


def test_a_failure_is_null_in_json_with_its_reason() -> None:
    chip = load_chip("ascend-910b1")
    table = KernelTable.of("ascend_cube", mm_count=1, mm_m=16, mm_n=16, mm_k=16, l0a_bytes=1e6)
    found = simulate_both(table, chip)
    assert math.isinf(found.latency_us)
    assert found.kernels[0].events_failure == Failure.compile_error
    flat = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert flat["latency_us"] is None
    assert flat["kernels"][0]["error"].startswith("compile_error: l0a_capacity")
    assert found.lines()[-1].endswith("fails")


def test_padding_waste_is_known_of_every_backend() -> None:
    for name in ("ascend-910b1", "mlu370-x4", "rtx-3090"):
        chip = load_chip(name)
        table = KernelTable.of(chip.backend, macs=4e6, macs_useful=1e6)
        why = simulate_both(table, chip).kernels[0].explanation
        assert why.padding_waste == pytest.approx(0.75)


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no kernel"):
        simulate_both(two_kernels().take(np.zeros(2, dtype=bool)), mlu())


@pytest.mark.parametrize("chip_name", ["ascend-910b1", "mlu370-x4", "rtx-3090"])
def test_a_compilation_that_takes_too_long_fails_in_both_models(chip_name: str) -> None:
    chip = load_chip(chip_name)
    most = (chip.bench.compile_timeout_s - chip.bench.compile_s) / chip.bench.compile_s_per_unroll
    table = KernelTable.of(chip.backend, macs=1e6, unroll=[np.floor(most), np.ceil(most) + 1])
    patient, killed = (simulate_both(table.take([row]), chip).kernels[0] for row in (0, 1))
    assert math.isfinite(patient.explanation.latency_us)
    assert math.isfinite(patient.events_us)
    assert str(killed.explanation.error).startswith("compile_error: compile_time needs")
    assert killed.events_failure == Failure.compile_error
