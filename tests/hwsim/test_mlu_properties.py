"""What must hold on the MLU for any kernel and any chip of the family."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwsim.chips import load_chip
from hwsim.columns import MLU_STREAMS, columns_of
from hwsim.mlu_sram.analytical import simulate
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.costs import mac_rate
from hwsim.mlu_sram.des import simulate_one
from hwsim.result import Failure
from hwsim.rows import Rows
from hwsim.table import KernelTable

from .mlu_kernels import random_kernels

CHIPS = [load_chip(f"mlu370-{card}") for card in ("s4", "x4", "x8")]
BETTER_WHEN_MORE = (
    "clock_mhz", "clusters", "cores_per_cluster", "nram_kib", "wram_kib", "sram_kib", "ddr_gib",
    "ddr_gbps", "cluster_ddr_gbps", "core_ddr_gbps", "mv_bytes_per_cycle", "sram_bytes_per_cycle",
    "vector_bytes_per_cycle",
)  # fmt: skip
SLACK = 1 + 1e-9  # rounding of floats

chips = st.sampled_from(CHIPS)
seeds = st.integers(0, 2**32 - 1)


def kernels(seed: int, **changes: Any) -> KernelTable:
    table = random_kernels(32, seed)
    columns: dict[str, Any] = dict(table.columns) | changes
    return KernelTable("mlu_sram", table.n, columns)


def roofline_us(table: KernelTable, chip: MluChip) -> np.ndarray:
    """The chip at its peak: all MACs on all cores, all payload at the DDR's full rate."""
    blocks = table["clusters"] * table["cores_per_cluster"]
    moved = sum(table[f"{s}_count"] * table[f"{s}_bytes"] for s in MLU_STREAMS if "gdram" in s)
    compute = table["macs"] / (mac_rate(Rows(table), chip) * chip.cores * chip.clock_mhz)
    return np.maximum(compute, blocks * moved / (chip.ddr_gbps * 1e3))


@settings(max_examples=40, deadline=None)
@given(chip=chips, seed=seeds)
def test_nothing_beats_the_roofline(chip: MluChip, seed: int) -> None:
    table = kernels(seed)
    result = simulate(table, chip)
    ok = result.failure == Failure.ok
    assert (result.latency_us >= roofline_us(table, chip) / SLACK)[ok].all()
    shares = np.array([result.counters[c] for c in ("utilisation", "ddr_utilisation")])
    assert shares[:, ok].max(initial=0) <= SLACK
    assert all((column >= 0).all() for column in result.counters.values())


@settings(max_examples=15, deadline=None)
@given(chip=chips, seed=seeds)
def test_events_do_not_beat_the_roofline_either(chip: MluChip, seed: int) -> None:
    table = kernels(seed)
    floor = roofline_us(table, chip)
    for row in range(0, table.n, 8):
        assert simulate_one(table, row, chip).latency_us >= floor[row] / SLACK


@settings(max_examples=80, deadline=None)
@given(
    chip=chips,
    seed=seeds,
    field=st.sampled_from(BETTER_WHEN_MORE),
    factor=st.floats(1.01, 4.0),
    union=st.booleans(),
)
def test_more_of_a_resource_never_slows_a_kernel(
    chip: MluChip, seed: int, field: str, factor: float, union: bool
) -> None:
    single: dict[str, Any] = {
        "cores_per_cluster": 1, "sram_bytes": 0.0, "a_gdram_sram_count": 0,
    }  # fmt: skip
    table = kernels(seed, **({} if union else single))
    old = getattr(chip, field)
    new = int(np.ceil(old * factor)) if isinstance(old, int) else old * factor
    better = msgspec.structs.replace(chip, **{field: new})
    before, after = simulate(table, chip), simulate(table, better)
    assert (after.latency_us <= before.latency_us * SLACK).all()
    assert (after.counters["ddr_bytes"] <= before.counters["ddr_bytes"] * SLACK).all()


@settings(max_examples=40, deadline=None)
@given(chip=chips, seed=seeds, scope=st.sampled_from(("sram", "nram", "wram")))
def test_a_second_copy_of_a_buffer_that_fits_never_slows_a_kernel(
    chip: MluChip, seed: int, scope: str
) -> None:
    small = {"sram_bytes": 1e5, "nram_bytes": 1e5, "wram_bytes": 1e5}
    one = simulate(kernels(seed, **small, **{f"{scope}_buffers": 1}), chip)
    two = simulate(kernels(seed, **small, **{f"{scope}_buffers": 2}), chip)
    assert (two.latency_us <= one.latency_us * SLACK).all()


@settings(max_examples=40, deadline=None)
@given(chip=chips, seed=seeds, below=st.floats(0, 1))
def test_the_cliff_is_exactly_at_the_sram_limit(chip: MluChip, seed: int, below: float) -> None:
    single = {"sram_buffers": 1}
    inside = simulate(kernels(seed, **single, sram_bytes=below * chip.sram_bytes), chip)
    at = simulate(kernels(seed, **single, sram_bytes=float(chip.sram_bytes)), chip)
    over = simulate(kernels(seed, **single, sram_bytes=chip.sram_bytes + 1.0), chip)
    staged = kernels(seed)["a_gdram_sram_count"] > 0
    same = (inside.latency_us == at.latency_us) | (kernels(seed)["cores_per_cluster"] == 1)
    assert same.all()
    ok = at.failure == Failure.ok
    assert (over.latency_us > at.latency_us)[staged & ok].all()


@settings(max_examples=60, deadline=None)
@given(chip=chips, data=st.data())
def test_any_numbers_are_answered(chip: MluChip, data: st.DataObject) -> None:
    schema = columns_of("mlu_sram")
    names = data.draw(st.lists(st.sampled_from(sorted(schema)), unique=True, max_size=12))
    wide = st.sampled_from([0, 1, 2, 63, 64, 2**31, 2**62])
    far = st.sampled_from([0.0, 0.5, 1.0, 1e9, 1e18, 1e300])
    columns = {
        name: np.array([data.draw(wide if schema[name].dtype == "int64" else far)])
        for name in names
        if name != "candidate"
    }
    result = simulate(KernelTable("mlu_sram", 1, columns), chip)
    latency, failure = result.latency_us[0], result.failure[0]
    assert not np.isnan(latency)
    assert latency >= chip.launch_us
    assert np.isinf(latency) == (failure != Failure.ok)
    assert all(np.isfinite(column).all() for column in result.counters.values())
    if failure != Failure.ok:
        limit = result.limits[result.failed_limit[0]]
        assert limit.need[0] > limit.have[0] >= 0


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: str(chip.name))
def test_traffic_of_a_spill_is_counted(chip: MluChip) -> None:
    fits = simulate(kernels(5, sram_bytes=1e5), chip)
    spilt = simulate(kernels(5, sram_bytes=2e7), chip)
    assert (spilt.counters["ddr_bytes"] > fits.counters["ddr_bytes"]).all()
