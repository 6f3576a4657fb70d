"""Microseconds a candidate: columns road, TIR road and TVM's replay side by side.

``pytest tests/tuner/test_bench_columns.py --benchmark-enable``
"""

from time import perf_counter

import numpy as np
import pytest

from hwsim.chips import load_chip
from tuner import spaces, tir
from tuner.sketch import Sketch
from tuner.workloads import resolve

N = 4096
CASES = [
    ("a100-sxm-40gb", "gemm:1024x1024x1024:float32"),
    ("a100-sxm-40gb", "gemm:1024x1024x1024:float16"),
    ("a100-sxm-40gb", "resnet50.c2.3x3"),
    ("a100-sxm-40gb", "bert-base.s128.softmax"),
    ("ascend-910b1", "gemm:1024x1024x1024:float16"),
    ("ascend-910b1", "resnet50.c2.3x3"),
    ("mlu370-s4", "gemm:1024x1024x1024:float16"),
    ("mlu370-s4", "resnet50.c2.3x3"),
    ("local-cpu", "gemm:1024x1024x1024:float32"),
    ("local-cpu", "resnet50.c2.3x3"),
]


def us_each(call, items):
    """Microseconds of one call, mean over the items."""
    start = perf_counter()
    for item in items:
        call(item)
    return (perf_counter() - start) / len(items) * 1e6


@pytest.mark.parametrize(("chip_name", "spec"), CASES)
def test_columns_road(benchmark, chip_name, spec):
    workload, chip = resolve(spec), load_chip(chip_name)
    sketch = Sketch.from_schedule(spaces.design_space(workload, chip)[0], workload, chip, 0)
    rows = sketch.sample(np.random.default_rng(0), N)
    assert sketch.road == "columns"
    table = benchmark(sketch.kernels, rows)
    assert table.n_candidates == N
    if benchmark.disabled:
        return
    columns_us = benchmark.stats.stats.median / N * 1e6
    schedules = [sketch.replay(row) for row in rows[:8]]
    replay_us = us_each(sketch.replay, rows[:8])
    tir_us = us_each(lambda s: tir.kernels(s, workload, chip.backend), schedules)
    benchmark.extra_info.update(
        columns_us=columns_us,
        columns_us_alone=us_each(lambda i: sketch.kernels(rows[i : i + 1]), range(20)),
        replay_us=replay_us,
        tir_us=tir_us,
        replay_and_tir_over_columns=(replay_us + tir_us) / columns_us,
    )
