"""What must hold on a GPU for any kernel and any chip of the family."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hwsim.chips import chip_names, load_chip
from hwsim.columns import columns_of
from hwsim.gpu_sm.analytical import simulate
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.convolution import convolution_2d
from hwsim.gpu_sm.des import simulate_one
from hwsim.result import Failure
from hwsim.table import KernelTable

from .gpu_kernels import random_kernels

CHIPS = [c for c in map(load_chip, chip_names()) if isinstance(c, GpuChip)]
BETTER_WHEN_MORE = (
    "clock_mhz", "sms", "shared_sm_kib", "shared_block_kib",
    "l1_shared_kib", "l2_kib", "fma_lanes_sm", "int_lanes_sm", "special_lanes_sm",
    "l1_bytes_clk_sm", "l2_bytes_clk_sm", "l2_bytes_clk", "dram_gbps",
)  # fmt: skip
SLACK = 1 + 1e-9  # rounding of floats

chips = st.sampled_from(CHIPS)
seeds = st.integers(0, 2**32 - 1)


def roofline_us(table: KernelTable, chip: GpuChip) -> np.ndarray:
    """The chip at its peak: all useful MACs on all SMs, what L2 cannot keep at DRAM's full rate."""
    tensor = float(chip.tensor_macs_sm.get("float16", chip.fma_lanes_sm))
    rate = np.where(table["tensor_core"] > 0, tensor, float(chip.fma_lanes_sm))
    compute = table["macs_useful"] / (rate * chip.sms * chip.clock_mhz)
    columns = [name for name in columns_of("gpu_sm") if name.endswith("_unique_bytes")]
    footprint = sum(np.asarray(table[name], dtype=float) for name in columns)
    cold = footprint > 2 * chip.l2_kib * 1024
    return np.maximum(compute, np.where(cold, footprint / (chip.dram_gbps * 1e3), 0))


@settings(max_examples=30, deadline=None)
@given(chip=chips, seed=seeds)
def test_nothing_beats_the_roofline(chip: GpuChip, seed: int) -> None:
    table = random_kernels(8, seed)
    result = simulate(table, chip)
    ok = result.failure == Failure.ok
    assert (result.latency_us >= roofline_us(table, chip) / SLACK)[ok].all()
    for unit in ("issue", "fma", "int", "special", "tensor", "lsu", "l2", "dram"):
        assert (result.counters[f"{unit}_us"] <= result.latency_us * SLACK)[ok].all()
    assert all((column >= 0).all() for column in result.counters.values())
    assert (result.counters["l1_hit"] <= 1).all()
    assert (result.counters["occupancy"] <= 1).all()


@settings(max_examples=10, deadline=None)
@given(chip=chips, seed=seeds)
def test_events_do_not_beat_the_roofline_either(chip: GpuChip, seed: int) -> None:
    table = random_kernels(1, seed)
    floor = roofline_us(table, chip)
    for row in range(table.n):
        found = simulate_one(table, row, chip)
        assert found.latency_us >= floor[row] / SLACK
        assert all(us <= found.latency_us * SLACK for us in found.busy_us.values())


@settings(max_examples=120, deadline=None)
@given(chip=chips, seed=seeds, field=st.sampled_from(BETTER_WHEN_MORE), factor=st.floats(1.01, 4.0))
def test_more_of_a_resource_never_slows_a_kernel(
    chip: GpuChip, seed: int, field: str, factor: float
) -> None:
    table = random_kernels(8, seed)
    old = getattr(chip, field)
    new = int(np.ceil(old * factor)) if isinstance(old, int) else old * factor
    better = msgspec.structs.replace(chip, **{field: new})
    before, after = simulate(table, chip), simulate(table, better)
    assert (after.latency_us <= before.latency_us * SLACK).all()


@settings(max_examples=40, deadline=None)
@given(chip=chips, seed=seeds, factor=st.floats(1.01, 8.0))
def test_traffic_to_dram_falls_or_stays_as_l2_grows(
    chip: GpuChip, seed: int, factor: float
) -> None:
    table = random_kernels(8, seed)
    larger = msgspec.structs.replace(chip, l2_kib=int(np.ceil(chip.l2_kib * factor)))
    before, after = simulate(table, chip), simulate(table, larger)
    assert (after.counters["dram_bytes"] <= before.counters["dram_bytes"] * SLACK).all()
    assert (after.counters["l2_bytes"] <= before.counters["l2_bytes"] * SLACK).all()


@settings(max_examples=40, deadline=None)
@given(chip=chips, seed=seeds)
def test_a_row_does_not_depend_on_its_neighbours(chip: GpuChip, seed: int) -> None:
    table = random_kernels(4, seed)
    whole = simulate(table, chip)
    order = np.random.default_rng(seed).permutation(table.n)
    shuffled = simulate(table.take(order), chip)
    assert np.array_equal(whole.latency_us[order], shuffled.latency_us)
    assert np.array_equal(whole.bottleneck[order], shuffled.bottleneck)


@settings(max_examples=60, deadline=None)
@given(chip=chips, data=st.data())
def test_any_sizes_are_answered(chip: GpuChip, data: st.DataObject) -> None:
    """Zero, huge and overflowing amounts give a latency or a failure, never NaN or a wrap."""
    names = sorted(n for n in columns_of("gpu_sm") if n != "candidate")
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=12, unique=True))
    columns: dict[str, Any] = {}
    for name in chosen:
        kind = columns_of("gpu_sm")[name].dtype
        huge = st.sampled_from([0, 1, 7, 2**31, 2**62] if kind == "int64" else [0.0, 1.0, 1e300])
        columns[name] = data.draw(huge)
    table = KernelTable.of("gpu_sm", **columns)
    result = simulate(table, chip)
    ok = result.failure == Failure.ok
    assert np.isfinite(result.latency_us[ok]).all()
    assert (result.latency_us >= chip.launch_us).all()
    one = simulate_one(table, 0, chip)
    assert one.latency_us >= chip.launch_us
    assert np.isfinite(one.latency_us) == (one.failure == Failure.ok)


def test_an_empty_table_has_an_empty_answer() -> None:
    result = simulate(KernelTable("gpu_sm", 0), CHIPS[0])
    assert len(result) == 0


def test_rows_are_answered_alike_in_long_tables() -> None:
    """Long tables are simulated in pieces."""
    few = random_kernels(7, 0)
    many = KernelTable.concat([few] * 1_000)
    one, all_ = simulate(few, CHIPS[0]), simulate(many, CHIPS[0])
    assert np.allclose(all_.latency_us, np.tile(one.latency_us, 1_000), rtol=1e-12)
    for name, column in all_.counters.items():
        assert np.allclose(column, np.tile(one.counters[name], 1_000), rtol=1e-12), name
    assert [len(limit.need) for limit in all_.limits] == [many.n] * len(one.limits)


def test_unrolled_staging_waits_once_a_step() -> None:
    """16 loads a step: under way together where they are unrolled, in turn where they are not."""
    table = KernelTable.of(
        "gpu_sm", threads=128, blocks=10, k_steps=8, unroll=[0, 15, 16], macs=1e6,
        x_global_shared_count=128, x_global_shared_bytes=512.0,
    )  # fmt: skip
    path = simulate(table, CHIPS[0]).counters["path_us"]
    assert path[0] == path[1]
    assert path[2] < path[1] / 2


def test_read_only_loads_straight_to_registers_compute_their_addresses() -> None:
    table = convolution_2d(64, 4, 2, 2, staged=[0, 0, 1, 1], read_only=[0, 1, 0, 1])
    integer = simulate(table, CHIPS[0]).counters["int_us"]
    assert integer[1] > 1.5 * integer[0]
    assert integer[2] == integer[3]
