"""Vector work of an NPU, instruction by instruction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hwsim.chips import load_chip
from hwsim.table import KernelTable
from pruner.machine import machine_of
from pruner.vector_unit import passes_us, vector_unit_of

ASCEND, MLU = load_chip("ascend-910b1"), load_chip("mlu370-s4")
NPUS: dict[str, Any] = {"ascend_cube": ASCEND, "mlu_sram": MLU}
PASS = {"vec_count": 10, "vec_bytes": 8192.0, "vec_run_bytes": 8192.0, "blocks": 1}
each_npu = pytest.mark.parametrize("backend", NPUS)


def us(backend: str, **columns: Any) -> np.ndarray:
    table = KernelTable.of(backend, **columns)
    return passes_us(table, NPUS[backend], machine_of(NPUS[backend]))


@each_npu
def test_the_same_bytes_in_shorter_runs_take_longer(backend: str) -> None:
    times = us(backend, **{**PASS, "vec_run_bytes": [8192.0, 1024.0, 128.0, 16.0]})
    assert (np.diff(times) > 0).all()


@each_npu
def test_a_run_is_no_longer_than_its_pass(backend: str) -> None:
    whole, beyond, unknown = us(backend, **{**PASS, "vec_run_bytes": [8192.0, 1e6, 0.0]})
    assert whole == beyond == unknown


def test_an_instruction_takes_its_start_and_its_bytes_or_the_time_to_issue_it() -> None:
    unit = vector_unit_of(MLU)
    cycles = 10 * 4 * (unit.start + np.ceil(2000 / unit.bytes_per_cycle))
    found = us("mlu_sram", **{**PASS, "vec_bytes": 8000.0, "vec_run_bytes": 2000.0})
    assert found[0] == pytest.approx(cycles / MLU.clock_mhz)
    short = us("ascend_cube", **{**PASS, "vec_run_bytes": 32.0})
    issued = 10 * (256 * ASCEND.scalar_issue_cycles + ASCEND.vector_startup_cycles)
    assert short[0] == pytest.approx(issued / ASCEND.clock_mhz)


@each_npu
def test_operations_beyond_the_passes_and_special_ones_cost_more(backend: str) -> None:
    plain, more, special = us(backend, **PASS, alu_ops=[0, 10**7, 10**7], special_ops=[0, 0, 10**6])
    assert plain < more < special


@each_npu
def test_without_passes_the_scalar_unit_computes(backend: str) -> None:
    lone, beside_the_matrix_unit = us(
        backend, vec_count=0, alu_ops=10**6, blocks=1, mm_count=[0, 1]
    )
    assert lone == pytest.approx(
        10**6 * vector_unit_of(NPUS[backend]).scalar / NPUS[backend].clock_mhz
    )
    assert beside_the_matrix_unit < lone / 100


def test_the_vector_cores_of_a_matrix_core_share_its_block() -> None:
    alone, shared = us("ascend_cube", **PASS, mm_count=[0, 1])
    assert alone == pytest.approx(shared * ASCEND.vector_cores / ASCEND.cube_cores)


def test_transposes_take_longer_than_their_bytes() -> None:
    none, some = us("mlu_sram", **PASS, rearrange_count=[0, 2], rearrange_bytes=4096.0)
    assert some - none > 2 * 4096 / MLU.vector_bytes_per_cycle / MLU.clock_mhz


def test_a_gpu_has_no_such_unit() -> None:
    with pytest.raises(TypeError, match="no vector unit"):
        vector_unit_of(load_chip("a100-sxm-40gb"))
