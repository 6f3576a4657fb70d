"""The task stage against spaces that were measured whole, and its bounds against candidates."""

from __future__ import annotations

import numpy as np
import pytest

from hwsim.chips import load_chip
from pruner.scopes import footprint, scopes_of
from tuner.bench.nodes import Nodes, nodes_of, table
from tuner.describe import describe
from tuner.oracle import catalogue, load
from tuner.problem import Problem
from tuner.quantities import Measured
from tuner.workloads import resolve

CASES = (
    ("mlu370-s4", "conv2d_bias_relu:1x56x56x64x64x3x3x1x1:float16"),
    ("mlu370-s4", "gemm:512x512x512:float16"),
    ("ascend-910b1", "conv2d:1x14x14x64x64x3x3x1x1:float16"),
    ("a100-sxm-40gb", "gemm:512x512x512:float16"),
)


def test_every_invalid_node_of_a_convolution_goes_and_nothing_else() -> None:
    found = nodes_of("mlu-conv", load(catalogue()["mlu-conv"]))
    assert found.invalid == found.cut > 0
    assert found.wrongly == found.lost == 0


@pytest.mark.slow
@pytest.mark.parametrize(("chip", "spec"), CASES)
def test_what_a_candidate_has_to_fit_is_never_overestimated(chip: str, spec: str) -> None:
    """On candidates that the bounds were not found from."""
    for sketch in Problem.of(resolve(spec), load_chip(chip)).sketches:
        rows = sketch.sample(np.random.default_rng(7), 2048)
        candidates, measured = sketch.kernels(rows), Measured.of(sketch, 1)
        quantities = [q for q in describe(sketch).quantities if q.name.endswith("_bytes")]
        assert quantities or not scopes_of(sketch.chip.backend)
        for q in quantities:
            taken = footprint(candidates, q.name.removesuffix("_bytes"))  # type: ignore[arg-type]
            most = candidates.per_candidate(taken, np.maximum)
            assert (measured.value(q.terms, rows) <= most * (1 + 1e-9)).all(), (sketch.index, q)


def test_the_table_gives_the_mean_of_the_spaces_that_have_invalid_nodes() -> None:
    rows = [Nodes("a", 10, 4, 3, 0, 0, 0.5), Nodes("b", 10, 0, 0, 0, 0, 0.5)]
    *_, a, b, mean = table(rows)
    assert "| 75% |" in a
    assert "| - |" in b
    assert mean == "mean share over 1 spaces with invalid nodes: 75.0%"
