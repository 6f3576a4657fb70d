"""Graphs of real design spaces."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from hwsim.chips import load_chip
from pruner.meta.graph import NODE_FEATURES, WHOLE_FEATURES, Graph
from pruner.scopes import capacity
from tuner.meta.accesses import scope_of
from tuner.meta.encode import graph
from tuner.nest import Buffer
from tuner.problem import Problem
from tuner.workloads import resolve

CASES = [
    ("ascend-910b1", "gemm:128x128x128"),
    ("mlu370-s4", "softmax:64x128"),
    ("a100-sxm-40gb", "softmax:60x100:float32"),
]


@cache
def problem(chip: str, spec: str) -> Problem:
    return Problem.of(resolve(spec), load_chip(chip))


def encoded(chip: str, spec: str, rows: np.ndarray, on: str | None = None) -> Graph:
    sketch = problem(chip, spec).sketches[0]
    return graph(sketch.nest(rows), sketch.kernels(rows), load_chip(on or chip))


def rows_of(chip: str, spec: str, n: int = 12) -> np.ndarray:
    return problem(chip, spec).sketches[0].sample(np.random.default_rng(0), n)


@pytest.mark.parametrize(("chip", "spec"), CASES)
def test_a_candidates_graph_does_not_depend_on_its_batch(chip: str, spec: str) -> None:
    rows = rows_of(chip, spec)
    found = encoded(chip, spec, rows)
    for i in (0, 5, 11):
        alone = encoded(chip, spec, rows[[i]])
        for kind in NODE_FEATURES:
            np.testing.assert_array_equal(alone.nodes[kind][0], found.nodes[kind][i])
        np.testing.assert_array_equal(alone.whole[0], found.whole[i])
        for name, edges in found.edges.items():
            np.testing.assert_array_equal(alone.edges[name], edges)


@pytest.mark.parametrize(("chip", "spec"), CASES)
def test_every_node_has_its_features_and_every_edge_its_ends(chip: str, spec: str) -> None:
    found = encoded(chip, spec, rows_of(chip, spec))
    for kind, names in NODE_FEATURES.items():
        assert found.nodes[kind].shape[2] == len(names)
        assert np.isfinite(found.nodes[kind]).all()
    assert found.whole.shape == (12, len(WHOLE_FEATURES))
    assert np.isfinite(found.whole).all()
    accesses, buffers = found.nodes["access"].shape[1], found.nodes["buffer"].shape[1]
    assert found.edges["touches"].shape == (2, accesses)
    assert set(found.edges["touches"][1].tolist()) == set(range(buffers))
    assert set(found.edges["encloses"][0].tolist()) == set(range(found.nodes["loop"].shape[1]))


def test_loops_and_statements_are_the_nests() -> None:
    chip, spec = CASES[0]
    rows = rows_of(chip, spec)
    nest = problem(chip, spec).sketches[0].nest(rows)
    found = encoded(chip, spec, rows)
    statements = [s for kernel in nest.kernels for s in kernel]
    digits = {d.name: d for s in statements for d in s.digits}
    extents = np.stack([d.extent for d in digits.values()], axis=1)
    np.testing.assert_allclose(2.0 ** found.nodes["loop"][:, :, 0], extents, rtol=1e-5)
    compute = [s.role for s in statements].index("compute")
    executions = np.prod([d.extent for d in statements[compute].digits], axis=0)
    column = NODE_FEATURES["statement"].index("log_executions")
    said = 2.0 ** found.nodes["statement"][:, compute, column]
    np.testing.assert_allclose(said, executions, rtol=1e-5)


def test_a_smaller_memory_is_a_larger_share_of_it() -> None:
    chip, spec, other = *CASES[0], "ascend-910b4"
    rows = rows_of(chip, spec)
    one, two = encoded(chip, spec, rows), encoded(chip, spec, rows, on=other)
    column = NODE_FEATURES["buffer"].index("log_capacity_share")
    scope = NODE_FEATURES["buffer"].index("scope_l0c")
    which = one.nodes["buffer"][0, :, scope] == 1
    ratio = np.log2(capacity(load_chip(chip), "l0c")[0] / capacity(load_chip(other), "l0c")[0])
    moved = (two.nodes["buffer"] - one.nodes["buffer"])[:, which, column]
    np.testing.assert_allclose(moved, ratio, atol=1e-5)
    assert not np.array_equal(one.whole, two.whole)


@pytest.mark.parametrize(
    ("scope", "said"),
    [("shared.dyn", "shared"), ("wmma.matrix_a", "l0a"), ("local.ub", "ub"), ("local", "local"),
     ("shared.sram", "sram"), ("global", "global")],
)  # fmt: skip
def test_scopes(scope: str, said: str) -> None:
    assert scope_of(Buffer("b", scope, "float16", ())) == said
