"""The MLU's discrete-event model: agreement with the analytical one, shortening, the fluid bus."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
import simpy
from scipy.stats import spearmanr

from hwsim.chips import load_chip
from hwsim.mlu_sram.analytical import simulate
from hwsim.mlu_sram.bus import Bus
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.costs import block_costs
from hwsim.mlu_sram.des import simulate_one
from hwsim.mlu_sram.kernels import matmul_table
from hwsim.mlu_sram.processes import Group, run_group
from hwsim.mlu_sram.program import program_of
from hwsim.mlu_sram.tiles import MatmulTiles
from hwsim.result import Failure
from hwsim.rows import Rows
from hwsim.table import KernelTable

from .mlu_kernels import random_kernels


@pytest.fixture(scope="module")
def s4() -> MluChip:
    chip = load_chip("mlu370-s4")
    assert isinstance(chip, MluChip)
    return chip


@pytest.mark.parametrize("name", ["mlu370-s4", "mlu370-x4", "mlu370-x8"])
def test_both_models_agree_on_random_kernels(name: str) -> None:
    chip = load_chip(name)
    assert isinstance(chip, MluChip)
    table = random_kernels(200, seed=1)
    result = simulate(table, chip)
    valid = np.flatnonzero(result.failure == Failure.ok)
    events = np.array([simulate_one(table, int(i), chip).latency_us for i in valid])
    model = result.latency_us[valid]
    assert len(valid) > 150
    assert spearmanr(model, events)[0] >= 0.95
    assert np.median(np.abs(model / events - 1)) <= 0.15


def test_a_shortened_kernel_stays_within_its_stated_bound(s4: MluChip) -> None:
    table = random_kernels(60, seed=2)
    shortened = 0
    for i in range(len(table)):
        short = simulate_one(table, i, s4, steps=24)
        full = simulate_one(table, i, s4, steps=1_000_000)
        assert full.error_bound == 0
        assert abs(short.latency_us / full.latency_us - 1) <= short.error_bound + 1e-9
        shortened += short.latency_us != full.latency_us
    assert shortened > 10


def test_equal_clusters_move_in_step(s4: MluChip) -> None:
    program = program_of(block_costs(Rows(random_kernels(1, seed=4)), s4), 1.0)

    def ends(*groups: Group) -> list[list[float]]:
        env = simpy.Environment()
        bus = Bus(env)
        runs = [run_group(env, bus, program, group, 2.4, None) for group in groups]
        env.run()
        return [run.ends_us for run in runs]

    together = ends(Group(0, 3, 4))[0]
    for apart in ends(Group(0, 1, 4), Group(1, 1, 4), Group(2, 1, 4)):
        assert apart == pytest.approx(together)


def test_serial_kernels_add_up_exactly(s4: MluChip) -> None:
    tiles = MatmulTiles(m=1536, n=1024, k=512, tile_m=128, tile_n=256, tile_k=128)
    table = matmul_table([tiles], s4)
    events = simulate_one(table, 0, s4)
    assert events.latency_us == pytest.approx(float(simulate(table, s4).latency_us[0]), rel=0.01)
    busy = sum(events.busy_us[unit] for unit in ("io", "mv", "core"))
    assert events.latency_us == pytest.approx(busy + s4.launch_us)


def test_spans_of_an_engine_do_not_overlap(s4: MluChip) -> None:
    table = random_kernels(10, seed=3)
    for row in range(len(table)):
        spans = simulate_one(table, row, s4, timeline=True, steps=24).timeline
        assert spans
        for unit in {unit for unit, *_ in spans}:
            mine = sorted((start, end) for u, _, start, end in spans if u == unit)
            assert all(end <= start + 1e-9 for (_, end), (start, _) in pairwise(mine))


def test_buffers_are_never_over_filled(s4: MluChip) -> None:
    table = random_kernels(10, seed=3)
    for row in range(len(table)):
        levels = simulate_one(table, row, s4, timeline=True).levels
        assert levels
        assert {value for _, _, value in levels} <= {0, 1, 2}
        last = {name: value for name, _, value in levels}
        assert set(last.values()) == {0}


def test_spilling_is_a_cliff_here_too(s4: MluChip) -> None:
    table = random_kernels(1, seed=0)
    columns = dict(table.columns) | {
        "a_gdram_sram_count": table["a_sram_nram_count"],
        "sram_buffers": np.array([1]),
    }
    at, over = (
        simulate_one(
            KernelTable("mlu_sram", 1, columns | {"sram_bytes": np.array([size])}), 0, s4
        ).latency_us
        for size in (float(s4.sram_bytes), s4.sram_bytes + 1.0)
    )
    assert over > 1.1 * at


def test_failures_are_answered(s4: MluChip) -> None:
    big = KernelTable.of("mlu_sram", nram_bytes=1e9)
    assert simulate_one(big, 0, s4).failure == Failure.compile_error
    endless = KernelTable.of("mlu_sram", mm_count=2**62, mm_m=2**62, mm_n=64, mm_k=64)
    assert simulate_one(endless, 0, s4).failure == Failure.timeout
    many = KernelTable.of("mlu_sram", clusters=2**40, blocks=2**40)
    assert simulate_one(many, 0, s4).failure in (Failure.ok, Failure.timeout)


def transfers(*loads: tuple[float, float, float]) -> list[float]:
    """End times of transfers (bus_us, floor_us, weight) that start together."""
    env = simpy.Environment()
    bus = Bus(env)
    ends = [0.0] * len(loads)

    def run(i: int, load: tuple[float, float, float]):  # type: ignore[no-untyped-def]
        yield bus.transfer(*load)
        ends[i] = env.now

    for i, load in enumerate(loads):
        env.process(run(i, load))
    env.run()
    return ends


def test_the_bus_is_shared_max_min_fairly() -> None:
    assert transfers((4, 0, 1)) == pytest.approx([4])
    assert transfers((4, 10, 1)) == pytest.approx([10])
    assert transfers((4, 0, 1), (4, 0, 1)) == pytest.approx([8, 8])
    assert transfers((4, 0, 1), (2, 0, 1)) == pytest.approx([6, 4])
    assert transfers((6, 0, 3), (2, 0, 1)) == pytest.approx([8, 8])  # by weight
    assert transfers((1, 10, 1), (9, 0, 1)) == pytest.approx([10, 10])  # unused share goes on
    assert transfers((0, 3, 1)) == pytest.approx([3])


def test_a_transfer_of_ages_ends() -> None:
    """At 1e10 us the clock's steps are coarser than what counts as finished on a short one."""
    env = simpy.Environment(initial_time=1e10)
    bus = Bus(env)
    transfers = [bus.transfer(us, 0.0) for us in (1 / 3, 0.7, 1e9 / 7)]

    def wakes() -> Iterator[simpy.Event]:
        yield env.all_of(transfers)

    done = env.process(wakes())
    for _ in range(100):
        if done.triggered:
            break
        env.step()
    assert done.triggered
    assert bus.busy_us == pytest.approx(1 / 3 + 0.7 + 1e9 / 7)
