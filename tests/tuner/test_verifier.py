"""The columns predict TVM's verdict on a candidate of a GPU."""

from itertools import chain

import numpy as np
import pytest

from hwsim.chips import load_chip
from tuner.bench import verifier
from tuner.problem import Problem
from tuner.workloads import resolve
from tuner.workloads.catalogue import SPECS

A100 = "a100-sxm-40gb"


def problem_of(name):
    return Problem.of(resolve(name), load_chip(A100))


def test_a_balanced_sample_has_no_wrong_prediction():
    found = verifier.agreement(problem_of("gemm:512x512x512:float16"), 40)
    assert (found.accepted, found.rejected) == (20, 20)
    assert (found.wrongly_accepted, found.wrongly_rejected) == (0, 0)


def test_wrong_predictions_are_counted_on_their_side(monkeypatch):
    """Over predictions that are all turned round, every candidate is one."""
    problem = problem_of("gemm:512x512x512:float16")
    right = Problem.rejects
    monkeypatch.setattr(Problem, "rejects", lambda self, table: ~right(self, table))
    found = verifier.agreement(problem, 8)
    assert (found.wrongly_accepted, found.wrongly_rejected) == (4, 4)
    assert list(verifier.table([found]))[-1] == "8 wrong predictions of 8 candidates"


def test_a_small_space_is_verified_whole():
    problem = problem_of("layer_norm:48x96:float16")
    found = verifier.agreement(problem, 10**6)
    assert found.accepted + found.rejected == problem.size


@pytest.mark.parametrize(
    ("kernel", "outer", "inner", "warps", "accepted"),
    [
        ("3x3", 3, 24, 1, False),  # 3 x 256 rows of weights: one warp's vectors fill 256 of them
        ("3x3", 3, 24, 2, True),  # two warps fill 512
        ("2x2", 2, 16, 1, False),  # 2 x 256
        ("2x2", 1, 32, 1, True),  # 2 x 2 x 256: two dimensions are left
    ],
)
def test_vectors_that_fill_a_dimension_of_a_transposed_operand(
    kernel, outer, inner, warps, accepted
):
    problem = problem_of(f"conv2d:1x14x14x256x64x{kernel}x1x1:float16")
    rows = 13 if kernel == "3x3" else 15  # in units of 16
    tiles = (rows, 1, 1, 1, 1), (4 // warps, 1, warps, 1, 1), (outer, inner, 2)
    row = np.array([*chain(*tiles), 0, 0, 3, 0])  # vectors of 8 of the weights
    kernels = problem.kernels(problem.pool(0, row[None]))
    assert problem.rejects(kernels)[0] == (not accepted)
    assert problem.lower(0, row).rejected_by == (None if accepted else "VerifyGPUCode")


@pytest.mark.parametrize(
    ("rows", "columns", "by"),
    [
        ((1, 1, 4, 1, 1), (4, 1, 1, 1, 1), "ScheduleError"),  # a block copies all 49 of 64 rows out
        ((1, 1, 4, 1, 1), (2, 1, 1, 2, 1), None),  # and several columns of tiles
        ((1, 1, 2, 2, 1), (4, 1, 1, 1, 1), None),  # in two loops
        ((2, 1, 2, 1, 1), (4, 1, 1, 1, 1), None),  # half of them
    ],
)
def test_rows_that_tvm_loses_track_of(rows, columns, by):
    problem = problem_of("conv2d_bias_relu:1x7x7x32x64x3x3x1x1:float16")
    row = np.array([*rows, *columns, 18, 1, 1, 0, 0, 0, 0])
    predicted = problem.predicted(problem.kernels(problem.pool(0, row[None])))
    assert (predicted.by if predicted else None) == by
    assert problem.lower(0, row).rejected_by == by


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECS)
def test_no_prediction_is_wrong_over_the_catalogue(name):
    found = verifier.agreement(problem_of(name))
    assert (found.wrongly_accepted, found.wrongly_rejected) == (0, 0)
