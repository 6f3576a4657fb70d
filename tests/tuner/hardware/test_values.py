"""What is delivered for a CPU is run as it is; a wrong program is found out."""

from __future__ import annotations

import numpy as np
import pytest

from hwsim.chips import load_chip
from tuner.check import check_schedule
from tuner.deliver import check_values
from tuner.problem import Problem
from tuner.workloads import resolve


@pytest.mark.parametrize("spec", ["gemm:48x32x64:float32", "conv2d:1x8x8x8x8x3x3x1x1:float32"])
def test_random_schedules_compute_the_right_values(spec: str) -> None:
    problem = Problem.of(resolve(spec), load_chip("local-cpu"))
    for sketch in problem.sketches:
        row = sketch.sample(np.random.default_rng(4), 1)[0]
        said = check_values(problem, sketch.index, row.tolist())
        assert said.startswith(f"right on {spec}"), said


def test_another_program_is_wrong() -> None:
    chip = load_chip("local-cpu")
    fused = Problem.of(resolve("dense_bias_relu:16x16x16:float32"), chip)
    plain = Problem.of(resolve("gemm:16x16x16:float32"), chip)
    row = plain.sketches[0].sample(np.random.default_rng(0), 1)[0]
    schedule = plain.lower(0, row).schedule
    assert check_schedule(schedule, plain.workload, 0, emulate=False).ok
    assert not check_schedule(schedule, fused.workload, 0, emulate=False).ok
