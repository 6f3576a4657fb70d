"""Physics of the Ascend model: roofline, monotonicity, capacities, overlap, sizes without end."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwsim.ascend_cube.analytical import BOTTLENECKS, simulate
from hwsim.ascend_cube.chip import AscendChip, Mover
from hwsim.ascend_cube.des import simulate_one
from hwsim.ascend_cube.tiles import matmul_table
from hwsim.ascend_cube.tiling import MatmulTiling
from hwsim.ascend_cube.vector_tiles import VectorTiling, elementwise_table
from hwsim.backends import simulate as simulate_any
from hwsim.chips import chip_names, load_chip
from hwsim.outcome import error_line
from hwsim.result import Failure
from hwsim.table import KernelTable

from .ascend_kernels import chip_of, random_valid

CHIPS = [c for c in map(load_chip, chip_names()) if isinstance(c, AscendChip)]
B1 = chip_of("ascend-910b1")
BETTER_WHEN_MORE = (
    "cores", "clock_mhz", "l1_kib", "l0a_kib", "l0b_kib", "l0c_kib", "ub_kib", "l2_mib", "hbm_gib",
    "hbm_gb_per_s", "l2_gb_per_s", "vector_bytes_per_cycle", "special_elements_per_cycle",
    "gm_l1", "gm_ub", "ub_gm", "l0c_gm", "l1_l0a", "l1_l0b",
)  # fmt: skip
MIXED = random_valid(150, 3, B1)
WELL = MatmulTiling(
    split_m=4, split_n=6, base_m=128, base_n=256, base_k=64, step_ka=4, step_kb=4,
    depth_a1=8, depth_b1=8,
)  # fmt: skip


def matmul(m: int, n: int, k: int, **tiling: int) -> KernelTable:
    return matmul_table(m, n, k, "float16", tiling_with(**tiling), trans_b=True)


def tiling_with(**tiling: int) -> MatmulTiling:
    return MatmulTiling(**{**vars(WELL), **tiling})


def changed(**fields: Any) -> AscendChip:
    return msgspec.structs.replace(B1, **fields)


def with_more(chip: AscendChip, resource: str, factor: float) -> AscendChip:
    """``chip`` with more of a field, a faster mover, or more AI cores with their vector cores."""
    if resource == "cores":
        cube, vector = chip.cube_cores, chip.vector_cores
        cores = int(np.ceil(cube * factor))
        return msgspec.structs.replace(chip, cube_cores=cores, vector_cores=cores * vector // cube)
    old = getattr(chip, resource)
    if isinstance(old, Mover):
        faster = {
            "bytes_per_cycle": old.bytes_per_cycle * factor,
            "unaligned_bytes_per_cycle": old.unaligned_bytes_per_cycle * factor,
            "latency_cycles": old.latency_cycles / factor,
        }
        return msgspec.structs.replace(chip, **{resource: msgspec.structs.replace(old, **faster)})
    more = int(np.ceil(old * factor)) if isinstance(old, int) else old * factor
    return msgspec.structs.replace(chip, **{resource: more})


def latency(table: KernelTable, chip: AscendChip = B1) -> float:
    return float(simulate(table, chip).latency_us[0])


@pytest.mark.parametrize("name", ["ascend-910b1", "ascend-910b2", "ascend-910b3", "ascend-910b4"])
def test_nothing_beats_the_roofline(name: str) -> None:
    chip = chip_of(name)
    result = simulate(MIXED, chip)
    k0 = np.where(MIXED["in_bits"] == 8, chip.cube_k["int8"], chip.cube_k["float16"])
    peak = chip.cube_cores * chip.cube_m * chip.cube_n * k0 * chip.clock_mhz
    tensors = sum(MIXED[f"{s}_unique_bytes"] for s in ("a_gm_l1", "b_gm_l1", "c_ub_gm"))
    floor = np.maximum(MIXED["macs_useful"] / peak, tensors / (chip.hbm_gb_per_s * 1e3))
    ran = result.failure == Failure.ok
    assert (result.latency_us[ran] >= floor[ran]).all()
    assert (result.counters["cube_utilisation"] <= 1).all()


@settings(max_examples=80, deadline=None)
@given(
    chip=st.sampled_from(CHIPS),
    seed=st.integers(0, 2**32 - 1),
    resource=st.sampled_from(BETTER_WHEN_MORE),
    factor=st.floats(1.01, 4.0),
)
def test_more_of_a_resource_never_slows_a_kernel(
    chip: AscendChip, seed: int, resource: str, factor: float
) -> None:
    table = random_valid(8, seed, chip)
    before, after = simulate(table, chip), simulate(table, with_more(chip, resource, factor))
    assert (after.latency_us <= before.latency_us * (1 + 1e-9)).all()


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: str(chip.name))
@pytest.mark.parametrize("cube", [True, False], ids=["cube", "vector"])
def test_a_block_more_than_cores_takes_a_second_round(chip: AscendChip, cube: bool) -> None:
    cores = chip.cube_cores if cube else chip.vector_cores
    work = {"mm_count": 100, "mm_m": 128, "mm_n": 256, "mm_k": 64} if cube else {"vec_count": 100}
    table = KernelTable.of(
        "ascend_cube",
        blocks=[1, cores, cores + 1, 2 * cores],
        vec_bytes=65536.0,
        in_bits=16,
        **work,
    )
    formula = simulate(table, chip).latency_us - chip.launch_us
    events = [simulate_one(table, row, chip).latency_us - chip.launch_us for row in range(4)]
    for one, full, one_more, twice in (formula, events):
        assert full == pytest.approx(one)
        assert one_more == pytest.approx(2 * one)
        assert twice == pytest.approx(2 * one)


@given(
    st.tuples(*[st.integers(1, 3000)] * 3),
    st.sampled_from(["split_m", "base_m", "base_n", "base_k"]),
    st.integers(1, 700),
)
@settings(max_examples=60, deadline=None)
def test_any_shape_and_tiling_is_answered_with_a_time_or_a_limit(
    shape: tuple[int, int, int], field: str, value: int
) -> None:
    table = matmul(*shape, **{field: value})
    result = simulate(table, B1)
    if result.failure[0] == Failure.ok:
        assert 0 < result.latency_us[0] < np.inf
        assert error_line(result, 0) is None
    else:
        limit = result.limits[int(result.failed_limit[0])]
        assert limit.need[0] > limit.have[0] > 0
        assert result.latency_us[0] == np.inf
        assert result.bottleneck_names[int(result.bottleneck[0])] == "capacity"
    assert all(np.isfinite(c).all() and (c >= 0).all() for c in result.counters.values())


def test_a_full_buffer_fits_and_one_byte_more_does_not() -> None:
    for scope, kib in (("l1", 512), ("l0a", 64), ("l0b", 64), ("l0c", 128), ("ub", 192)):
        bytes_ = [kib * 1024 / 2, kib * 1024 / 2 + 1]
        columns = {f"{scope}_bytes": bytes_, f"{scope}_buffers": 2}
        result = simulate(KernelTable.of("ascend_cube", mm_count=1, in_bits=16, **columns), B1)
        assert result.failure.tolist() == [Failure.ok, Failure.compile_error]
        need, have = kib * 1024 + 2, kib * 1024
        assert (
            error_line(result, 1) == f"compile_error: {scope}_capacity needs {need} B, has {have} B"
        )


def test_capacities_are_kibibytes_and_clocks_megahertz() -> None:
    assert B1.l1_kib * 1024 == 524_288
    table = KernelTable.of("ascend_cube", mm_count=1, mm_m=16, mm_n=16, mm_k=16000, in_bits=16)
    assert simulate(table, B1).counters["mac_us"][0] == pytest.approx((1000 + 23) / 1850)


def test_sizes_without_end_end_as_a_limit() -> None:
    big = 2**62
    table = KernelTable.of(
        "ascend_cube", blocks=[0, 1, big, big], mm_count=[0, 1, big, 1], mm_m=[0, big, big, 16],
        mm_n=[0, big, big, 16], mm_k=[0, big, big, 16], in_bits=16,
        a_gm_l1_count=[0, big, big, 1], a_gm_l1_bytes=[0, 1e300, 1e308, 1.0],
    )  # fmt: skip
    result = simulate(table, B1)
    assert result.failure.tolist() == [
        Failure.ok, Failure.timeout, Failure.timeout, Failure.timeout,
    ]  # fmt: skip
    assert result.latency_us[0] == B1.launch_us + B1.core_start_us


def test_a_second_buffer_overlaps_loading_with_the_cube() -> None:
    one = matmul(4096, 4096, 4096, depth_a1=4, depth_b1=4)
    two = matmul(4096, 4096, 4096)
    assert latency(two) < 0.85 * latency(one)
    counters = simulate(one, B1).counters
    serial = counters["mte1_us"] + counters["mte2_us"]
    assert simulate(one, B1).counters["core_us"][0] > serial[0] * 0.9


def test_one_core_loads_at_its_movers_rate_and_all_at_that_of_the_memory() -> None:
    alone = latency(elementwise_table(2**24, "float16", VectorTiling(1, 8192, 4)))
    together = latency(elementwise_table(48 * 2**24, "float16", VectorTiling(48, 8192, 4)))
    moved = 2 * 48 * 2**24 * 2
    assert together > moved / (B1.hbm_gb_per_s * 1e3)
    assert together > 2 * alone


def test_short_and_odd_runs_cost_more() -> None:
    def read(run_bytes: float, align: int) -> float:
        table = KernelTable.of(
            "ascend_cube", blocks=24, mm_count=100, a_gm_l1_count=100, in_bits=16, l1_buffers=2,
            a_gm_l1_bytes=65536.0, a_gm_l1_run_bytes=run_bytes, a_gm_l1_align_bytes=align,
        )  # fmt: skip
        return float(simulate(table, B1).counters["mte2_us"][0])

    assert read(512, 512) < read(128, 128)
    assert read(512, 512) < read(512, 64) < read(512, 2)


def test_many_readers_of_one_line_are_served_one_by_one() -> None:
    def share(grid_n: int) -> float:
        table = KernelTable.of(
            "ascend_cube", blocks=24, grid_n=grid_n, mm_count=1, in_bits=16, l1_buffers=2,
            a_gm_l1_count=100, a_gm_l1_bytes=16384.0, a_gm_l1_run_bytes=128.0,
            a_gm_l1_unique_bytes=1638400.0,
        )  # fmt: skip
        return float(simulate(table, B1).counters["mte2_us"][0])

    assert share(24) > 1.5 * share(4)


def test_traffic_falls_as_l2_grows_and_as_tiles_grow() -> None:
    small, large = changed(l2_mib=32), changed(l2_mib=512)
    table = matmul(8192, 8192, 8192)
    hbm = [float(simulate(table, c).counters["hbm_bytes"][0]) for c in (small, B1, large)]
    assert hbm[0] > hbm[1] > hbm[2] >= 3 * 8192 * 8192 * 2
    fine = simulate(matmul(8192, 8192, 8192, base_m=64, base_n=64), B1).counters["l2_bytes"]
    assert fine[0] > 2 * simulate(table, B1).counters["l2_bytes"][0]


def test_padding_and_idle_cores_are_counted() -> None:
    counters = simulate(matmul(17, 17, 17, split_m=1, split_n=1), B1).counters
    assert counters["padding_waste"][0] == pytest.approx(1 - 17**3 / 32**3)
    assert counters["core_utilisation"][0] == pytest.approx(1 / 24)


def test_bottlenecks_are_named() -> None:
    def bottleneck(table: KernelTable) -> str:
        return BOTTLENECKS[int(simulate(table, B1).bottleneck[0])]

    assert bottleneck(matmul(16, 16, 16, split_m=1, split_n=1)) == "launch"
    assert bottleneck(elementwise_table(2**28, "float16", VectorTiling(48, 8192, 2))) == "hbm"
    special = elementwise_table(2**24, "float16", VectorTiling(48, 8192, 2), special_ops=9)
    assert bottleneck(special) == "vec"


def test_a_table_of_another_backend_is_refused() -> None:
    table = KernelTable.of("gpu_sm", blocks=1)
    with pytest.raises(ValueError, match="the table is for gpu_sm"):
        simulate_any(table, load_chip("ascend-910b1"))


def test_tile_parameters_that_make_no_sense_are_named() -> None:
    with pytest.raises(ValueError, match="base_k is 0"):
        tiling_with(base_k=0)
    with pytest.raises(ValueError, match="m is 0"):
        matmul(0, 1, 1)
    with pytest.raises(ValueError, match="dtype 'fp4'"):
        matmul_table(1, 1, 1, "fp4", WELL)
    with pytest.raises(ValueError, match="tile_elements is 0"):
        VectorTiling(1, 0)
