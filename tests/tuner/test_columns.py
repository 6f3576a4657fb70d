"""The columns road gives exactly the kernel tables of the TIR road."""

from functools import cache

import numpy as np
import pytest
from tvm.s_tir import Schedule

from hwsim.chips import load_chip
from hwsim.table import KernelTable
from tuner import spaces, tir
from tuner.columns import differing, placement
from tuner.sketch import Sketch
from tuner.workloads import resolve

GPU, NPU = "a100-sxm-40gb", ("ascend-910b1", "mlu370-s4")
CASES = [
    *((GPU, f"gemm:96x64x160:{dtype}") for dtype in ("float32", "float16")),
    (GPU, "conv2d_bias_relu:1x14x14x32x32x3x3x1x1:float32"),
    (GPU, "conv2d:1x14x14x16x32x3x3x2x1:float16"),
    (GPU, "batch_matmul:3x32x64x48:float32"),
    (GPU, "softmax:60x100:float32"),
    (GPU, "layer_norm:48x96:float16"),
    (GPU, "global_avg_pool:2x7x7x64:float16"),  # a reduction over threads of two fused loops
    *((chip, "gemm:72x61x50:float16") for chip in NPU),
    *((chip, "conv2d_bias_relu:1x14x14x16x32x3x3x1x1:float16") for chip in NPU),
    *((chip, "softmax:48x96:float16") for chip in NPU),
    *((chip, "add:60x96:float16") for chip in NPU),
    *((chip, "dense_bias:1x100x96:float16") for chip in (GPU, *NPU)),  # one row, padded to 16
]


@cache
def sketches(chip_name, spec):
    workload, chip = resolve(spec), load_chip(chip_name)
    schedules = spaces.design_space(workload, chip)
    return [Sketch.from_schedule(s, workload, chip, i) for i, s in enumerate(schedules)]


def by_tir(sketch, rows):
    backend = sketch.chip.backend
    tables = (tir.kernels(sketch.replay(row), sketch.workload, backend) for row in rows)
    return KernelTable.concat(list(tables))


@pytest.mark.parametrize(("chip", "spec"), CASES)
def test_tables_equal_those_of_the_tir_road(chip, spec):
    for sketch in sketches(chip, spec):
        assert (sketch.road, sketch.fallback_reason) == ("columns", None)
        rows = sketch.sample(np.random.default_rng(11), 4)
        assert differing(sketch.kernels(rows), by_tir(sketch, rows)) == []


@pytest.mark.parametrize(("chip", "spec"), [CASES[0], CASES[3], CASES[5], CASES[10]])
def test_a_row_does_not_depend_on_its_neighbours(chip, spec):
    for sketch in sketches(chip, spec):
        rows = sketch.sample(np.random.default_rng(5), 200)
        some = np.array([199, 3, 3, 50])
        assert (
            differing(sketch.kernels(rows[some]), sketch.kernels(rows).take_candidates(some)) == []
        )


def test_an_empty_matrix_gives_an_empty_table():
    sketch = sketches(*CASES[0])[0]
    assert len(sketch.kernels(np.empty((0, sketch.width), dtype=np.int64))) == 0


def test_an_unknown_instruction_falls_back_and_says_so():
    workload, chip = resolve("gemm:32x32x64:float32"), load_chip(GPU)
    schedule = Schedule(workload.prim_func())
    i, j, k = schedule.get_loops(schedule.get_sblock("C"))
    outer, _ = schedule.split(k, schedule.sample_perfect_tile(k, 2))
    schedule.rfactor(outer, 0)
    schedule.bind(i, "blockIdx.x")
    schedule.bind(j, "threadIdx.x")
    sketch = Sketch.from_schedule(schedule, workload, chip, 0)
    assert (sketch.road, sketch.fallback_reason) == ("tir", "instruction RFactor")
    rows = sketch.sample(np.random.default_rng(0), 2)
    assert differing(sketch.kernels(rows), by_tir(sketch, rows)) == []


def test_a_wrong_rule_is_found_and_falls_back(monkeypatch):
    # As if shared memory did not span the threads of a block.
    monkeypatch.setattr(placement, "is_thread", lambda kind: False)
    workload, chip = resolve(CASES[0][1]), load_chip(GPU)
    sketch = Sketch.from_schedule(spaces.design_space(workload, chip)[0], workload, chip, 0)
    assert sketch.road == "tir"
    assert sketch.fallback_reason.startswith("differs from the replayed candidates in ")
