"""The draft: finite, each candidate for itself, and in the right order on known kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from hwsim.backends import simulate
from hwsim.chips import load_chip
from hwsim.mlu_sram.kernels import matmul_table
from hwsim.mlu_sram.tiles import MatmulTiles
from hwsim.table import KernelTable
from pruner.dissent import CLOSE_BY
from pruner.draft import DRAFTS, draft_us
from pruner.gate import Gate, GateOptions
from pruner.registry import installed
from pruner.testing import random_table
from pruner.trial import TrialStage

CHIPS: dict[str, Any] = {
    "ascend_cube": load_chip("ascend-910b1"),
    "mlu_sram": load_chip("mlu370-s4"),
    "gpu_sm": load_chip("a100-sxm-40gb"),
    "cpu": load_chip("local-cpu"),
}
FASTER = {
    "ascend_cube": {"hbm_gb_per_s": 2.0, "l2_gb_per_s": 2.0, "clock_mhz": 1.1},
    "mlu_sram": {"ddr_gbps": 2.0, "core_ddr_gbps": 2.0, "clock_mhz": 1.1},
    "gpu_sm": {"dram_gbps": 2.0, "l1_bytes_clk_sm": 2, "dram_latency": 0.5, "clock_mhz": 1.1},
    "cpu": {"cache_bytes_per_cycle": 2.0, "fma_per_cycle": 2.0, "reorder_ops": 2.0},
}


@pytest.mark.parametrize("backend", DRAFTS)
@settings(deadline=None)
@given(seed=st.integers(0, 1000))
def test_finite_and_independent_of_company(backend: str, seed: int) -> None:
    chip, table = CHIPS[backend], random_table(backend, 40, np.random.default_rng(seed))
    draft = draft_us(table, chip)
    assert draft.shape == (table.n_candidates,)
    assert np.isfinite(draft).all()
    assert (draft > 0).all()
    some = [17, 3]
    assert np.array_equal(draft_us(table.take_candidates(some), chip), draft[some])


@pytest.mark.parametrize("backend", DRAFTS)
def test_nothing_to_draft(backend: str) -> None:
    empty = random_table(backend, 0, np.random.default_rng(0))
    assert draft_us(empty, CHIPS[backend]).shape == (0,)


@pytest.mark.parametrize(
    ("backend", "field"), [(b, f) for b, fields in FASTER.items() for f in fields]
)
def test_a_better_chip_never_drafts_slower(backend: str, field: str) -> None:
    chip, table = CHIPS[backend], random_table(backend, 200, np.random.default_rng(1))
    value = getattr(chip, field)
    better = msgspec.structs.replace(chip, **{field: type(value)(value * FASTER[backend][field])})
    assert (draft_us(table, better) <= draft_us(table, chip) * (1 + 1e-9)).all()


def test_two_copies_of_a_buffer_overlap_what_one_does_not() -> None:
    one = MatmulTiles(m=1024, n=1024, k=1024, tile_m=64, tile_n=256, tile_k=128)
    tiles = [replace(one, double_buffer=d) for d in (False, True)]
    single, double = draft_us(matmul_table(tiles, CHIPS["mlu_sram"]), CHIPS["mlu_sram"])
    assert double < single


def test_what_comes_again_comes_from_the_cache() -> None:
    """More than L2 holds, twice and three times: a time more is a time at the rate of L2."""
    chip, mib = CHIPS["ascend_cube"], 2.0**20
    distinct = 2 * chip.l2_mib * mib
    table = KernelTable.of(
        "ascend_cube",
        blocks=24,
        mm_count=1,
        a_gm_l1_bytes=16384.0,
        a_gm_l1_run_bytes=16384.0,
        a_gm_l1_count=[times * distinct / 24 / 16384 for times in (2, 3)],
        a_gm_l1_unique_bytes=distinct,
        l1_buffers=2,
        k_steps=1e6,
    )
    twice, thrice = draft_us(table, chip)
    assert thrice - twice == pytest.approx(distinct / (chip.l2_gb_per_s * 1e3), rel=0.01)


def test_cores_that_the_chip_file_lacks_do_not_make_a_second_round() -> None:
    """24 blocks are drafted alike on 18 cores and on 24; 25 are not, but one round on 24."""
    chip = CHIPS["ascend_cube"]
    too_few = msgspec.structs.replace(chip, cube_cores=18)
    table = KernelTable.of("ascend_cube", blocks=[24, 25], macs=[24e8, 25e8], mm_count=1)
    believed, true = draft_us(table, too_few), draft_us(table, chip)
    assert believed[0] == pytest.approx(true[0])
    assert believed[1] > 1.9 * true[1]


def test_it_orders_the_tiles_of_a_matmul_as_the_simulator_does() -> None:
    chip, sizes = CHIPS["mlu_sram"], (32, 64, 128, 256)
    tiles = [
        MatmulTiles(m=1024, n=1024, k=1024, tile_m=m, tile_n=n, tile_k=k)
        for m in sizes for n in sizes for k in sizes
    ]  # fmt: skip
    table = matmul_table(tiles, chip)
    latency = table.per_candidate(simulate(table, chip).latency_us)
    ran = np.isfinite(latency)
    assert ran.sum() > 20
    assert spearmanr(draft_us(table, chip)[ran], latency[ran]).statistic > 0.8


@pytest.mark.parametrize("backend", [b for b in DRAFTS if b != "cpu"])
def test_the_stage_puts_what_cannot_run_last(backend: str) -> None:
    rules = [r for r in (installed().parse(s) for s in LIMITS) if backend in r.backends]
    stage = TrialStage(rules, Gate(), CHIPS[backend])
    table = random_table(backend, 300, np.random.default_rng(2))
    order = stage.draft(table)
    broken = stage.judge(table, [f"{i}" for i in range(300)], rescue=False).code >= 0
    assert 0 < broken.sum() < 300
    assert np.isinf(order[broken]).all()
    assert np.array_equal(order[~broken], np.log(draft_us(table, CHIPS[backend])[~broken]))


LIMITS = (
    "tvm-verifier{limit=shared}",
    "tvm-verifier{limit=threads}",
    "capacity{scope=l0a}",
    "capacity{scope=nram}",
    "capacity{scope=wram}",
)


def test_the_gate_does_not_prune_what_the_draft_puts_next_to_the_best() -> None:
    """Trained where small tiles lose, it knows nothing of a tile that the draft likes as much."""
    chip, rng = CHIPS["mlu_sram"], np.random.default_rng(0)
    table = random_table("mlu_sram", 400, rng)
    draft = draft_us(table, chip)
    order = np.argsort(draft, kind="stable")
    twins, others = order[:8], order[40:]
    latency = draft * rng.uniform(0.9, 1.1, 400)
    latency[twins[0]], latency[twins[1:5]] = draft.min() / 2, draft.max() * 2

    def pruned(caution: float) -> Any:
        stage = TrialStage((), Gate(GateOptions(caution=caution)), chip)
        seen = np.concatenate([twins[:5], others[:120]])
        stage.observe(
            table.take_candidates(np.sort(seen)), ["-"] * len(seen), latency[np.sort(seen)]
        )
        return ~stage.judge(table, ["-"] * 400, rescue=False).keep

    close = draft <= draft[twins[0]] * CLOSE_BY
    assert close[twins[0]]
    careful, literal = pruned(0.5), pruned(0.0)
    assert not careful[close].any()
    assert careful[~close].any()
    assert literal.sum() > careful.sum()
