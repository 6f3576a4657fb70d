"""The draft of a CPU's core: registers, latency, ports and caches, on tiles of a 256^3 GEMM."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from hwsim.chips import load_chip
from hwsim.cpu.chip import CpuChip
from hwsim.table import KernelTable
from pruner.core import core_us, fetch_us, register_tile
from pruner.draft import draft_us
from pruner.machine import machine_of

SIDE, F32 = 256, 4
CHIP = msgspec.structs.replace(
    load_chip("local-cpu"), cores=2, vector_bytes=32, vector_registers=16, l1_kib=32, l2_kib=512,
    l3_kib=32768,
)  # fmt: skip
assert isinstance(CHIP, CpuChip)


def tiles(*shapes: tuple[int, int], depth: int = SIDE, **columns: Any) -> KernelTable:
    """One kernel for each register tile of rows and columns, ``depth`` steps at a time."""
    m, n = np.array(shapes).T
    passes = SIDE**3 // (m * n)
    level1 = F32 * (m * n + depth * (m + n))
    given = {
        "macs": float(SIDE**3), "blocks": 64, "acc_bytes": F32 * m * n, "tile_m": m, "tile_n": n,
        "vector_lanes": np.minimum(n, 64), "vector_stride": 1,
        "level0_bytes": F32 * (m * n + m + n), "level0_runs": passes,
        **{f"level{i}_bytes": level1 for i in (1, 2)},
        **{f"level{i}_runs": passes // depth for i in (1, 2)},
        "level3_bytes": F32 * 3.0 * SIDE**2, "level3_runs": 1,
        **{f"{s}_bytes": float(F32 * SIDE**2) for s in STREAMS},
        **{f"{s}_unique_bytes": float(F32 * SIDE**2) for s in STREAMS},
        **{f"{s}_count": 1 for s in STREAMS},
    }  # fmt: skip
    return KernelTable.of("cpu", **(given | columns))


STREAMS = ("a_memory_core", "b_memory_core", "c_core_memory")


def test_eight_sums_in_registers_reach_the_peak() -> None:
    (found,) = core_us(tiles((4, 16)), CHIP)
    assert found == pytest.approx(SIDE**3 / machine_of(CHIP).macs_per_us)


def test_one_sum_waits_for_the_one_before() -> None:
    one, eight = core_us(tiles((1, 8), (4, 16)), CHIP)
    assert one == pytest.approx(eight * CHIP.fma_latency * CHIP.fma_per_cycle)


def test_a_core_that_looks_ahead_does_not_wait_as_long() -> None:
    ahead = msgspec.structs.replace(CHIP, reorder_ops=CHIP.reorder_ops * 16)
    assert core_us(tiles((1, 8)), ahead) < core_us(tiles((1, 8)), CHIP)
    assert core_us(tiles((1, 8), depth=8), CHIP) < core_us(tiles((1, 8)), CHIP)


def test_sums_that_do_not_fit_the_registers_are_stored_with_every_step() -> None:
    table = tiles((4, 16), (8, 16), (16, 16), (1, 64))
    found = register_tile(table, CHIP)
    assert found.held.tolist() == [True, False, False, True]  # 8 + 2 + 1, 16, 32, 8 + 1 registers
    assert found.stores.tolist() == [0, 16, 32, 0]
    assert not register_tile(tiles((14, 8)), CHIP).held  # 14 + 1 + 1 leave none to load ahead
    held, beyond = core_us(tiles((4, 16), (8, 16)), CHIP)
    assert beyond > 1.5 * held


def test_loops_that_are_not_vectorised_store_every_sum() -> None:
    scalar, vector = core_us(tiles((4, 16), (4, 16), vector_lanes=[1, 16]), CHIP)
    assert scalar > 8 * vector


def test_strided_lanes_are_loaded_one_by_one() -> None:
    strided, dense = core_us(tiles((4, 16), (4, 16), vector_stride=[SIDE, 1]), CHIP)
    assert strided > 4 * dense


def test_a_wide_panel_that_leaves_the_first_cache_is_fetched_from_the_second() -> None:
    wide, narrow = fetch_us(tiles((1, 64), (4, 16)), CHIP)  # 64 KiB of B, 16 KiB
    assert wide > 2 * narrow
    assert wide > core_us(tiles((1, 64)), CHIP)


def test_a_problem_that_a_cache_holds_is_fetched_once() -> None:
    small = msgspec.structs.replace(CHIP, l2_kib=1024)  # 768 KiB of matrices
    (found,) = fetch_us(tiles((16, 16), depth=1), small)
    first = msgspec.structs.replace(small, l1_kib=1024)
    (once,) = fetch_us(tiles((16, 16), depth=1), first)
    assert once < found


def test_idle_cores_cost_what_they_would_have_done() -> None:
    both, alone, three = draft_us(tiles((4, 16), (4, 16), (4, 16), blocks=[64, 1, 3]), CHIP)
    start = machine_of(CHIP).launch_us
    assert alone - start == pytest.approx(2 * (both - start))
    assert three - start == pytest.approx(4 / 3 * (both - start))
