"""The physics of each rule, on tables small enough to check by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwsim.backends import simulate
from hwsim.chips import load_chip
from hwsim.outcome import latencies_us
from hwsim.table import KernelTable
from pruner.bounds import least_us
from pruner.registry import builtin
from pruner.rule import Finding
from pruner.scopes import SCOPES, Scope
from pruner.testing import random_table

ASCEND: Any = load_chip("ascend-910b1")
MLU: Any = load_chip("mlu370-s4")
GPU: Any = load_chip("a100-sxm-40gb")
CHIPS = {"ascend_cube": ASCEND, "mlu_sram": MLU, "gpu_sm": GPU}


def check(spec: str, backend: str, **columns: Any) -> Finding:
    finding: Finding = (
        builtin().parse(spec).check(KernelTable.of(backend, **columns), CHIPS[backend])
    )
    return finding


def kept(spec: str, backend: str, **columns: Any) -> Sequence[bool]:
    return check(spec, backend, **columns).keep.tolist()


KIB = 1024


@pytest.mark.parametrize(
    ("scope", "kib"),
    [
        ("l1", ASCEND.l1_kib),
        ("l0a", ASCEND.l0a_kib),
        ("l0b", ASCEND.l0b_kib),
        ("l0c", ASCEND.l0c_kib),
        ("ub", ASCEND.ub_kib),
        ("nram", MLU.nram_kib - MLU.nram_reserved_kib),
        ("wram", MLU.wram_kib),
        ("shared", GPU.shared_block_kib),
    ],
)
def test_capacity_is_the_chips_to_the_byte(scope: Scope, kib: int) -> None:
    sizes = {f"{scope}_bytes": [kib * KIB, kib * KIB + 1]}
    found = check(f"capacity{{scope={scope}}}", SCOPES[scope].backend, **sizes)
    assert found.keep.tolist() == [True, False]
    assert found.have.tolist() == [kib * KIB] * 2
    assert found.need[1] - found.have[1] == 1


def test_capacity_counts_every_copy() -> None:
    half = {"l0a_bytes": 33 * KIB, "l0a_buffers": [1, 2]}
    assert kept("capacity{scope=l0a}", "ascend_cube", **half) == [True, False]


@pytest.mark.parametrize("scope", ["l1", "l0a", "l0b", "l0c", "ub"])
@given(kib=st.floats(1, 1000), copies=st.integers(1, 3))
def test_capacity_agrees_with_the_simulated_compiler(scope: str, kib: float, copies: int) -> None:
    columns = {f"{scope}_bytes": [kib * KIB], f"{scope}_buffers": [copies]}
    table = KernelTable.of("ascend_cube", **columns)
    fails = simulate(table, ASCEND).failure[0] != 0
    assert builtin().parse(f"capacity{{scope={scope}}}").check(table, ASCEND).keep[0] == (not fails)


def test_nram_agrees_with_the_simulated_compiler() -> None:
    rng = np.random.default_rng(0)
    n = 200
    table = KernelTable.of(
        "mlu_sram",
        nram_bytes=rng.uniform(1, 900, n) * KIB,
        nram_buffers=rng.integers(1, 3, n),
        a_gdram_nram_bytes=rng.uniform(1, 200, n) * KIB,
        a_gdram_nram_count=1,
        clusters=1,
        cores_per_cluster=1,
    )
    keep = builtin().parse("capacity{scope=nram}").check(table, MLU).keep
    assert keep.tolist() == (simulate(table, MLU).failure == 0).tolist()
    assert 0 < keep.mean() < 1


def test_sram_falls_back_beyond_what_the_compiler_leaves() -> None:
    have = (MLU.sram_kib - MLU.sram_reserved_kib) * KIB
    sizes = {"sram_bytes": [have, have + 1, have / 2 + 1], "sram_buffers": [1, 1, 2]}
    found = check("sram-fallback", "mlu_sram", **sizes)
    assert found.keep.tolist() == [True, False, False]
    assert not builtin().parse("sram-fallback").hard


def test_verifier_threads_and_floor() -> None:
    threads = {"threads": [16, 32, 1024, 1025, 1056]}
    annotated = {**threads, "thread_floor": 32, "thread_ceiling": 1024}
    assert kept("tvm-verifier{limit=threads}", "gpu_sm", **annotated) == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert kept("tvm-verifier{limit=thread_floor}", "gpu_sm", **annotated) == [
        False,
        True,
        True,
        True,
        True,
    ]
    assert kept("tvm-verifier", "gpu_sm", **annotated) == [False, True, True, False, False]
    assert kept("tvm-verifier", "gpu_sm", **threads) == [True, True, True, False, False]


def test_verifier_pipeline_and_ramp() -> None:
    assert kept("tvm-verifier{limit=pipeline}", "gpu_sm", pipeline_extent=[0, 1, 2]) == [
        True, False, True,
    ]  # fmt: skip
    assert kept("tvm-verifier{limit=ramp}", "gpu_sm", ramp_lanes=[0, 4, 5, 8]) == [
        True, True, False, False,
    ]  # fmt: skip


def test_verifier_as_a_whole_is_the_union_of_its_limits() -> None:
    rng = np.random.default_rng(1)
    columns = {
        "threads": rng.integers(1, 2000, 300),
        "thread_floor": 32,
        "shared_bytes": rng.uniform(0, 300, 300) * KIB,
        "pipeline_extent": rng.integers(0, 4, 300),
        "ramp_lanes": rng.choice([0, 2, 4, 8], 300),
    }
    limits = ("threads", "thread_floor", "shared", "pipeline", "ramp")
    parts = [kept(f"tvm-verifier{{limit={x}}}", "gpu_sm", **columns) for x in limits]
    assert kept("tvm-verifier", "gpu_sm", **columns) == np.all(parts, axis=0).tolist()


def test_integer_sums_fit_their_accumulators() -> None:
    columns = {"sum_need_bits": [32, 33, 16, 17, 0], "sum_bits": [32, 32, 16, 16, 0]}
    found = check("int-overflow", "ascend_cube", **columns)
    assert found.keep.tolist() == [True, False, True, False, True]


def test_rounding_of_sums_is_bounded() -> None:
    chain = [k / 2048 for k in (62, 63, 2048)]  # terms in float16
    assert kept("sum-rounding", "gpu_sm", sum_rounding=chain) == [True, False, False]
    chain = [k * 2.0**-24 for k in (508_400, 508_401)]
    assert kept("sum-rounding", "gpu_sm", sum_rounding=chain) == [True, False]
    assert kept("sum-rounding{max_error=0.5}", "mlu_sram", sum_rounding=[0.33, 0.34]) == [
        True,
        False,
    ]


def test_tensor_blocks_are_whole() -> None:
    block = {"intrin_m": 16, "intrin_n": 16, "intrin_k": 16}
    found = check(
        "tensor-blocks", "ascend_cube", mm_m=[32, 24, 32], mm_n=16, mm_k=[16, 16, 17], **block
    )
    assert found.keep.tolist() == [True, False, False]
    assert (found.need[1], found.have[1]) == (32, 24)
    assert (found.need[2], found.have[2]) == (32, 17)


def test_vector_lengths_of_both_tables() -> None:
    lanes = {"vector_lanes": [1, 2, 4, 8, 3], "in_bits": 16}
    assert kept("vector-length", "gpu_sm", **lanes) == [True, True, True, True, False]
    described = check("vector-length{table=as_described}", "gpu_sm", **lanes)
    assert described.keep.tolist() == [True, False, False, True, False]
    assert described.basis == ("rules.vector_lanes_as_described.float16",)


def test_registers_spill_beyond_255_a_thread() -> None:
    found = check("register-spill", "gpu_sm", threads=128, acc_regs=[128, 256], operand_regs=32)
    assert found.keep.tolist() == [True, False]
    assert found.need[0] == 0


def test_occupancy_floor() -> None:
    shared = {"threads": 64, "shared_bytes": [1 * KIB, 160 * KIB]}  # one block of two warps fits
    found = check("occupancy-floor", "gpu_sm", **shared)
    assert found.keep.tolist() == [True, False]
    assert found.have[1] == pytest.approx(2 / 64)


def _reads(stride_bytes: list[int]) -> dict[str, Any]:
    s = "a_shared_local"
    return {
        "threads": 32, f"{s}_count": 1, f"{s}_bytes": 128.0, f"{s}_thread_run": 32,
        f"{s}_stride1_bytes": stride_bytes,
    }  # fmt: skip


def test_bank_conflicts_of_a_strided_read() -> None:
    """Neighbouring words: none; every second: 2 ways; every 32nd: all lanes in one bank."""
    found = check("bank-conflict{max_ways=4}", "gpu_sm", **_reads([4, 8, 128, 132]))
    assert found.need.tolist() == [1, 2, 32, 1]
    assert found.keep.tolist() == [True, True, False, True]


def test_core_starvation_spares_kernels_that_are_over_at_once() -> None:
    work = {"blocks": [4, 200, 4], "macs": [1e12, 1e12, 1e3]}
    found = check("core-starvation", "gpu_sm", **work)
    assert found.keep.tolist() == [False, True, True]
    assert found.need[0] == np.ceil(GPU.rules.min_core_share * 108)


def test_a_second_copy_is_asked_for_where_it_fits_and_has_a_next_step() -> None:
    half, more = 32 * KIB, 33 * KIB
    columns = {
        "l0a_bytes": [half, half, half, more, 0], "l0a_buffers": [1, 2, 1, 1, 1],
        "k_steps": [8, 8, 1, 8, 8],
    }  # fmt: skip
    found = check("double-buffer-fit{scope=l0a}", "ascend_cube", **columns)
    assert found.keep.tolist() == [False, True, True, True, True]
    assert found.need.tolist() == [2, 1, 1, 1, 1]


def test_a_pipeline_is_no_deeper_than_its_loop() -> None:
    loops = {"pipeline_stages": [3, 3, 4, 1], "pipeline_extent": [2, 3, 16, 0], "k_steps": 16}
    assert kept("pipeline-depth", "gpu_sm", **loops) == [False, True, True, True]
    assert kept("pipeline-depth{max_depth=3}", "gpu_sm", **loops) == [False, True, False, True]
    copies = {"l1_buffers": 2, "k_steps": [1, 2]}
    assert kept("pipeline-depth", "ascend_cube", **copies) == [False, True]


def test_short_transfers() -> None:
    s = "a_gm_l1"
    stream = {f"{s}_count": 100, f"{s}_bytes": [1 * KIB, 32 * KIB], f"{s}_unique_bytes": 1e6}
    assert kept("short-transfer", "ascend_cube", **stream) == [False, True]
    tiny = {f"{s}_count": 1, f"{s}_bytes": 1 * KIB, f"{s}_unique_bytes": 1 * KIB}
    assert kept("short-transfer", "ascend_cube", **tiny) == [True]


def test_mean_cost_prunes_above_the_mean_and_by_budget() -> None:
    work = {"macs": [1e9, 2e9, 3e9, 10e9], "blocks": 108, "threads": 256}
    found = check("mean-cost", "gpu_sm", **work)
    assert found.have[0] == pytest.approx(found.need.mean())
    assert found.keep.tolist() == [True, True, True, False]
    assert kept("mean-cost{budget=2}", "gpu_sm", **work) == [True, True, False, False]
    assert kept("mean-cost{alpha=0}", "gpu_sm", **work) == [True] * 4


def test_mean_cost_sums_the_kernels_of_a_candidate() -> None:
    found = check("mean-cost", "gpu_sm", macs=[1e9, 1e9, 3e9], candidate=[0, 0, 1])
    assert found.need[0] == found.need[1] < found.need[2]
    assert found.have[0] == pytest.approx((found.need[0] + found.need[2]) / 2)


def test_roofline_bound_waits_for_a_measurement_and_then_prunes_what_cannot_win() -> None:
    rule = builtin().parse("roofline-bound{slack=1.0}")
    table = KernelTable.of("gpu_sm", macs=[1e9, 1e12], blocks=1080, threads=256)
    assert rule.check(table, GPU).keep.all()
    after = rule.with_best(1000.0).check(table, GPU)
    assert after.keep.tolist() == [True, False]
    work_us = 1e12 / GPU.peak_fp32_tflops / 1e6 * 2
    assert after.need[1] == pytest.approx(GPU.launch_us + work_us)


def test_the_bound_forgives_a_round_that_there_may_be_cores_for() -> None:
    """24 blocks take one round on the 24 cores that there are, 25 take two there as well."""
    table = KernelTable.of("ascend_cube", blocks=[24, 25], macs=[24e8, 25e8], mm_count=1)
    best_us = float(least_us(table, ASCEND)[0])
    too_few = msgspec.structs.replace(ASCEND, cube_cores=18)
    assert (least_us(table, too_few) > 1.9 * best_us).all()
    rule = builtin().parse("roofline-bound").with_best(best_us)
    assert rule.check(table, too_few).keep.tolist() == [True, False]
    assert rule.check(table, ASCEND).have[0] == pytest.approx(1.25 * best_us)


def test_bound_counts_the_busiest_core() -> None:
    """109 blocks on 108 SMs take twice as long as 108 blocks of the same size."""
    table = KernelTable.of("gpu_sm", macs=[108e9, 109e9], blocks=[108, 109])
    one, two = least_us(table, GPU) - GPU.launch_us
    assert two == pytest.approx(2 * one)


def test_bound_counts_the_engines_and_starts_of_an_ascend_core() -> None:
    """Two rounds of blocks that each bring 64 transfers of 1 KiB into L1."""
    table = KernelTable.of(
        "ascend_cube", blocks=48, a_gm_l1_bytes=1024.0, a_gm_l1_count=64, mm_count=1
    )
    mover = ASCEND.gm_l1
    each = max(mover.startup_cycles + 1024 / mover.bytes_per_cycle, mover.min_cycles)
    round_us = ASCEND.core_start_us + 64 * each / ASCEND.clock_mhz
    assert least_us(table, ASCEND) == pytest.approx(ASCEND.launch_us + 2 * round_us)


def consistent(table: KernelTable) -> KernelTable:
    """A table whose blocks are its clusters' cores, as a launch on the MLU has them."""
    if table.backend != "mlu_sram":
        return table
    cores = np.minimum(table["cores_per_cluster"], MLU.cores_per_cluster)
    launch = {"cores_per_cluster": cores, "blocks": table["clusters"] * cores}
    return KernelTable(table.backend, table.n, {**table.columns, **launch})


@pytest.mark.parametrize("chip", [ASCEND, MLU, GPU], ids=lambda chip: str(chip.backend))
def test_no_kernel_beats_the_bound_by_more_than_the_slack(chip: Any) -> None:
    table = consistent(random_table(chip.backend, 500, np.random.default_rng(0)))
    latency = latencies_us(table, simulate(table, chip))
    bound = table.per_candidate(least_us(table, chip))
    works = np.isfinite(latency)
    assert (bound[works] <= 1.25 * latency[works]).all()
