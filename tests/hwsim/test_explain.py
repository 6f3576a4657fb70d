"""Explanations: complete over backends, grounded in the row's numbers, readable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hwsim.backends import simulate
from hwsim.chips import load_chip
from hwsim.explain import Capacity, Explanation, explain
from hwsim.gpu_sm.chip import GpuChip
from hwsim.hints import REMEDIES
from hwsim.mlu_sram.chip import MluChip
from hwsim.table import KernelTable

MATMUL: dict[str, Any] = {
    "macs": 2.0**30, "macs_useful": 0.75 * 2.0**30, "in_bits": 16, "k_steps": 8,
}  # fmt: skip
KERNELS: dict[str, dict[str, Any]] = {
    "mlu370-s4": {
        "clusters": 6, "cores_per_cluster": 4, "blocks": 24, "mm_count": 8, "mm_m": 128,
        "mm_n": 256, "mm_k": 128, "a_gdram_nram_count": 8, "a_gdram_nram_bytes": 32768.0,
        "a_gdram_nram_run_bytes": 256.0, "a_gdram_nram_unique_bytes": 262144.0,
        "nram_bytes": 262144.0,
    },
    "ascend-910b1": {
        "blocks": 24, "mm_count": 64, "mm_m": 128, "mm_n": 256, "mm_k": 64,
        "a_gm_l1_count": 8, "a_gm_l1_bytes": 32768.0, "a_gm_l1_run_bytes": 256.0,
        "a_gm_l1_unique_bytes": 262144.0, "l1_bytes": 65536.0,
    },
    "a100-sxm-40gb": {
        "blocks": 256, "threads": 256, "acc_regs": 64, "a_global_shared_count": 64,
        "a_global_shared_bytes": 4096.0, "a_global_shared_run_bytes": 256.0,
        "a_global_shared_unique_bytes": 262144.0, "shared_bytes": 8192.0,
    },
}  # fmt: skip


def explained(chip_name: str, **changes: Any) -> Explanation:
    chip = load_chip(chip_name)
    table = KernelTable.of(chip.backend, **(MATMUL | KERNELS[chip_name] | changes))
    return explain(simulate(table, chip), table, 0, chip)


@pytest.mark.parametrize("chip_name", KERNELS)
def test_every_bottleneck_has_its_remedy(chip_name: str) -> None:
    chip = load_chip(chip_name)
    names = set(simulate(KernelTable(chip.backend, 1), chip).bottleneck_names)
    assert names - {"capacity"} == set(REMEDIES[chip.backend])


@pytest.mark.parametrize("chip_name", KERNELS)
def test_an_explanation_is_complete(chip_name: str) -> None:
    found = explained(chip_name)
    assert found.error is None
    assert found.latency_us > 0
    assert list(found.time_us.values()) == sorted(found.time_us.values(), reverse=True)
    assert found.advice[0] == REMEDIES[load_chip(chip_name).backend][found.bottleneck]
    assert [stream.title[:1] for stream in found.streams] == ["A"]
    assert found.streams[0].bytes / found.streams[0].unique_bytes > 2
    assert any("fetches every byte" in line for line in found.advice)
    assert any("runs of 256 B" in line for line in found.advice)
    assert all(0 <= share <= 1 for share in found.shares.values())
    assert found.capacities
    text = "\n".join(found.lines())
    for title in ("time by unit", "data movements", "capacities", "what would help"):
        assert title in text


def test_advice_follows_the_numbers() -> None:
    single = explained("mlu370-s4")
    double = explained("mlu370-s4", nram_buffers=2)
    text = "a second copy of the buffers in nram"
    assert any(text in line for line in single.advice)
    assert not any(text in line for line in double.advice)
    assert any("25% of the executed MACs are padding" in line for line in single.advice)
    assert single.padding_waste == pytest.approx(0.25)
    few = explained("mlu370-s4", clusters=1, blocks=4)
    assert any("17% of the cores are busy" in line for line in few.advice)


def test_a_failure_says_what_has_to_shrink() -> None:
    found = explained("mlu370-s4", nram_bytes=1e6)
    assert found.error is not None
    assert found.error.startswith("compile_error: nram_capacity")
    assert found.lines()[0] == found.error
    assert found.capacities["nram_capacity"].need == 1e6
    assert len(found.advice) == 1


def test_a_spill_is_named() -> None:
    staged = {"a_gdram_sram_count": 8, "a_gdram_sram_bytes": 1e6, "sram_bytes": 5e6}
    found = explained("mlu370-s4", **staged, a_sram_nram_count=8, a_sram_nram_bytes=1e6)
    assert found.bottleneck == "sram_spill"
    assert "lies in DDR" in found.advice[0]


def test_a_bottleneck_says_its_share_and_sums_say_of_what() -> None:
    found = explained("mlu370-s4")
    share = found.time_us[found.bottleneck] / found.latency_us
    assert found.lines()[0].endswith(f"held by {found.bottleneck}, its longest part ({share:.0%})")
    parts = ("ddr", "cluster_ddr", "io_issue", "sram_spill")
    assert sum(found.time_us.get(part, 0) for part in parts) == pytest.approx(found.time_us["io"])
    assert any(line.endswith(f"= {' + '.join(parts)}") for line in found.lines())


@pytest.mark.parametrize("sram_bytes", [0.0, 1e6, 5e6])
def test_sram_is_listed_with_need_and_have_also_where_it_spills(sram_bytes: float) -> None:
    chip = load_chip("mlu370-s4")
    assert isinstance(chip, MluChip)
    found = explained("mlu370-s4", sram_bytes=sram_bytes)
    assert found.error is None
    assert found.capacities["sram_capacity"] == Capacity(sram_bytes, chip.sram_bytes, "B")


def test_occupancy_is_the_fullest_buffer_of_a_core_that_runs_one_block() -> None:
    ascend = explained("ascend-910b1", l0a_bytes=16384.0, l0a_buffers=2)
    assert ascend.shares["occupancy"] == pytest.approx(0.5)  # 2 x 16 of 64 KiB
    mlu = explained("mlu370-s4", sram_bytes=5e6)
    assert mlu.shares["occupancy"] == 1.0


def test_gpu_utilisation_is_useful_macs_over_the_peak() -> None:
    for extra, peak in (({}, 64), ({"tensor_core": 1}, 1024), ({"intrin_k": 4, "in_bits": 8}, 256)):
        found = explained("a100-sxm-40gb", **extra)
        chip = load_chip("a100-sxm-40gb")
        assert isinstance(chip, GpuChip)
        least_us = 0.75 * 2.0**30 / (peak * 108 * chip.clock_mhz)
        assert found.shares["utilisation"] == pytest.approx(least_us / found.latency_us)


def test_a_row_that_is_not_there_is_refused() -> None:
    chip = load_chip("mlu370-s4")
    table = KernelTable("mlu_sram", 2)
    with pytest.raises(ValueError, match="row 2: the table has rows 0 to 1"):
        explain(simulate(table, chip), table, 2, chip)


def test_streams_are_weighted_by_the_mean_block() -> None:
    full, part = explained("mlu370-s4"), explained("mlu370-s4", work_share=0.5)
    assert part.streams[0].bytes == pytest.approx(np.float64(full.streams[0].bytes) / 2)
