"""The LLVM space over columns: equal to reading the scheduled TIR, before postprocs and after."""

from __future__ import annotations

import numpy as np
import pytest

from hwsim.chips import load_chip
from hwsim.table import KernelTable
from tuner import tir
from tuner.columns import LocatedRoad, Unsupported, differing, located
from tuner.problem import Problem
from tuner.summary import kernel_table
from tuner.workloads import resolve

GEMM = "gemm:64x96x128:float32"
CONV = "conv2d:1x10x10x16x16x3x3x1x1:float32"


@pytest.fixture(scope="module", params=[GEMM, CONV])
def problem(request: pytest.FixtureRequest) -> Problem:
    return Problem.of(resolve(request.param), load_chip("local-cpu"))


def test_the_columns_road_equals_the_tir_road(problem: Problem) -> None:
    for sketch in problem.sketches:
        assert sketch.road == "columns", sketch.fallback_reason
        rows = sketch.sample(np.random.default_rng(7), 12)
        nests = [tir.nest(sketch.replay(row), problem.workload) for row in rows]
        expected = KernelTable.concat([kernel_table(n, "cpu") for n in nests])
        assert differing(sketch.kernels(rows), expected) == []


def test_loops_are_those_that_tvms_postprocessors_make(problem: Problem) -> None:
    for sketch in problem.sketches:
        rows = sketch.sample(np.random.default_rng(3), 8)
        before = sketch.kernels(rows)
        done = [problem.lower(sketch.index, row).schedule for row in rows]
        after = KernelTable.concat([tir.kernels(s, problem.workload, "cpu") for s in done])
        assert differing(before, after) == []
        assert len(set(before["vector_lanes"].tolist())) > 1
        assert len(set(before["blocks"].tolist())) > 1


def test_locations_come_out_where_tvm_puts_them() -> None:
    sketch = Problem.of(resolve(CONV), load_chip("local-cpu")).sketches[2]
    road = sketch._columns
    assert isinstance(road, LocatedRoad)
    rows = sketch.sample(np.random.default_rng(11), 12)
    start = next(d.start for d in sketch.decisions if d.kind == "compute_location")
    recorded = [sketch.row_of(sketch.replay(row).trace)[start] for row in rows]
    assert road.taken(rows)[:, 0].tolist() == recorded
    assert recorded != rows[:, start].tolist()  # some of them had to move


def test_an_outcome_that_cannot_be_interpreted_takes_the_other_road_and_is_counted() -> None:
    sketch = Problem.of(resolve(CONV), load_chip("local-cpu")).sketches[2]
    road = sketch._columns
    assert isinstance(road, LocatedRoad)
    rows = sketch.sample(np.random.default_rng(2), 4)
    expected = road.kernels(rows)
    taken = [tuple(row) for row in road.taken(rows).tolist()]
    replayed, reference = [], road.reference
    road.reference = lambda row: replayed.append(tuple(row)) or reference(row)
    road.fallen[taken[0]] = "not today"
    assert differing(road.kernels(rows), expected) == []
    alike = zip(taken, map(tuple, rows), strict=True)
    assert replayed == [row for where, row in alike if where == taken[0]]


def test_a_reduction_split_over_a_buffer_falls_back_and_says_so() -> None:
    problem = Problem.of(resolve("softmax:8x16:float32"), load_chip("local-cpu"))
    roads = {sketch.road: sketch.fallback_reason for sketch in problem.sketches}
    assert set(roads) == {"columns", "tir"}
    assert roads["tir"] == "instruction RFactor"


def test_a_block_that_two_blocks_need_is_computed_for_both() -> None:
    """Of softmax: the exponentials, of which a sum needs a row and the output an element."""
    problem = Problem.of(resolve("softmax:8x16:float32"), load_chip("local-cpu"))
    sketch = problem.sketches[-1]
    rows = sketch.space.enumerate()[::5]
    expected = [tir.kernels(sketch.replay(row), problem.workload, "cpu") for row in rows]
    assert differing(sketch.kernels(rows), KernelTable.concat(expected)) == []
    assert sketch._columns.fallen == {}


def test_locations_behind_what_cannot_be_interpreted_take_the_other_road(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise Unsupported("not today")

    problem = Problem.of(resolve("softmax:8x16:float32"), load_chip("local-cpu"))
    sketch = problem.sketches[-1]
    rows = sketch.sample(np.random.default_rng(1), 8)
    expected = sketch.kernels(rows)
    other = Problem.of(problem.workload, problem.chip).sketches[-1]
    assert other.road == "columns"
    monkeypatch.setattr(located, "interpret_places", refuse)
    other._columns._places.clear()
    assert (other._columns.taken(rows) == located.UNKNOWN).all()
    assert differing(other.kernels(rows), expected) == []
