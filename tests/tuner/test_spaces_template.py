"""Template spaces: the knobs of AutoTVM's users on every backend, through the same pipeline."""

import numpy as np
import pytest

from hwsim.chips import load_chip
from tuner import tir
from tuner.columns import differing
from tuner.problem import Problem
from tuner.spaces import SpaceError
from tuner.spaces.template import TILES, UNROLLS, VECTORS
from tuner.workloads import resolve

GEMM = "gemm:512x512x512:float16@template"
CASES = [("a100-sxm-40gb", 4**3 * 3**3 * 4), ("ascend-910b1", None), ("mlu370-s4", None)]


@pytest.fixture(scope="module")
def problems():
    return {chip: Problem.of(resolve(GEMM), load_chip(chip)) for chip, _ in CASES}


@pytest.mark.parametrize(("chip", "size"), CASES)
def test_one_sketch_of_knobs_alone_on_the_columns_road(problems, chip, size):
    (sketch,) = problems[chip].sketches
    assert {d.kind for d in sketch.decisions} == {"categorical"}
    assert sketch.road == "columns"
    assert size is None or sketch.size == size


def test_knobs_of_the_gpu(problems):
    (sketch,) = problems["a100-sxm-40gb"].sketches
    knobs = [(d.name.rsplit(".", 1)[-1], d.candidates) for d in sketch.decisions]
    # The tensor core makes 16 elements a step, two warps share m and n.
    per_step = {"m": 32, "n": 32, "k": 16}
    tiles = [values for name, values in knobs if name == "tile"]
    assert [tuple(v * w for v in t) for t, w in zip(tiles, per_step.values(), strict=True)] == [
        TILES, TILES, TILES,
    ]  # fmt: skip
    assert [values for name, values in knobs if name == "vector"] == [VECTORS] * 3
    assert [values for name, values in knobs if name == "unroll"] == [UNROLLS]


@pytest.mark.parametrize("chip", [chip for chip, _ in CASES])
def test_every_candidate_has_the_tiles_that_it_says(problems, chip):
    """The columns against replayed schedules, on candidates that the road was not built with."""
    problem = problems[chip]
    (sketch,) = problem.sketches
    rows = sketch.sample(np.random.default_rng(5), 6)
    table = sketch.kernels(rows)
    for i, row in enumerate(rows):
        replayed = tir.kernels(sketch.replay(row), sketch.workload, problem.chip.backend)
        assert not differing(table.take_candidates([i]), replayed)


def test_tiles_divide_the_axis_or_fall_below_the_least():
    # 7 x 7 outputs padded to 64: no tile of 32 .. 256 but 32 and 64 fits; 5 channels: one step.
    problem = Problem.of(
        resolve("conv2d:1x7x7x32x5x1x1x1x0:float16@template"), load_chip("ascend-910b1")
    )
    tiles = [d.candidates for d in problem.sketches[0].decisions if d.name.endswith(".tile")]
    assert tiles == [(2, 4), (1,), (2,)]


def test_only_products_have_a_template():
    with pytest.raises(SpaceError, match="a template covers products"):
        Problem.of(resolve("softmax:64x64@template"), load_chip("mlu370-s4"))


def test_the_suffix_is_part_of_the_name():
    workload = resolve(GEMM)
    assert (workload.name, workload.space) == (GEMM, "template")
    assert resolve(workload.spec) == workload
    assert resolve(GEMM.removesuffix("@template")).space == "generated"
