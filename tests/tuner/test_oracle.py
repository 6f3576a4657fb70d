"""Spaces measured whole: recipes restrict, files are complete or refused, nothing is lost."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest

from hwsim.chips import load_chip
from pruner.rulesets import rule_set
from tuner.oracle import (
    OracleError,
    Recipe,
    catalogue,
    load,
    lookup,
    measure,
    measuring,
    problem_of,
    survey,
)
from tuner.oracle.folders import SHIPPED
from tuner.oracle.summary import summary
from tuner.problem import Problem
from tuner.runs import search_spaces, task_stage
from tuner.search import Pool
from tuner.truth import Truth, truth
from tuner.workloads import resolve

SMALL = Recipe(
    name="small",
    chip="mlu370-s4",
    workload="gemm:128x128x256:float16",
    candidates=1,
    why="a test",
    sketches=[3, 1],
    only={"ax0_0_0_ax1_0_0_fused.cores": [4, 6]},
)


def recipe(**changes: object) -> Recipe:
    return msgspec.structs.replace(SMALL, **changes)


@pytest.fixture(scope="module")
def problem() -> Problem:
    """Two sketches of a GEMM."""
    return problem_of(SMALL)


def test_a_recipe_leaves_what_it_lists(problem: Problem) -> None:
    whole = Problem.of(resolve(SMALL.workload), load_chip(SMALL.chip))
    assert [s.size for s in problem.sketches] == [whole.sketches[i].size * 2 // 3 for i in (3, 1)]
    (cores,) = (d for d in problem.sketches[0].decisions if d.name.endswith("cores"))
    assert [cores.candidates[i] for (i,) in cores.options()] == [4, 6]
    rows = problem.sketches[0].sample(np.random.default_rng(0), 50)
    assert set(rows[:, cores.start]) == {1, 2}
    assert problem.sketches[0].hash(rows[0]) == whole.sketches[3].hash(rows[0])


def test_factors_are_listed_part_by_part() -> None:
    listed = {"ax0_0.tile": [[], [1], [2, 4], []]}
    (sketch,) = problem_of(recipe(sketches=[3], only=listed)).sketches
    (tile,) = (d for d in sketch.decisions if d.name == "ax0_0.tile")
    options = tile.options()
    assert len(options)
    assert (options[:, 1] == 1).all()
    assert set(options[:, 2]) == {2, 4}
    assert (options.prod(axis=1) == tile.extent).all()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sketches": [0, 7]}, "small: no sketch 7, there are 4"),
        ({"only": {"i.tile": [[]]}}, "small: no decision 'i.tile'"),
        ({"only": {"ax0_0_0_ax1_0_0_fused.cores": [5]}}, "fused.cores has no value in [5]"),
        ({"only": {"ax2_0.tile": [[1], [1], [1]]}}, "ax2_0.tile has no value in"),
        ({"only": {"ax2_0.tile": [[], []]}}, "ax2_0.tile has no value in"),
    ],
)
def test_what_a_space_does_not_have_is_named(changes: dict[str, object], said: str) -> None:
    with pytest.raises(OracleError) as error:
        problem_of(recipe(**changes))
    assert said in str(error.value)


def test_the_task_stage_sees_the_restricted_space(problem: Problem) -> None:
    kept = task_stage(problem, rule_set("default"))
    for result, sketch in zip(kept, problem.sketches, strict=True):
        assert result.nodes_before == sum(len(d.options()) for d in sketch.decisions)
    for space, sketch in zip(search_spaces(problem, kept), problem.sketches, strict=True):
        assert space.size <= sketch.size


def test_numbers_lead_to_candidates_and_back(problem: Problem) -> None:
    oracle = survey(problem)
    assert len(oracle) == problem.size
    pool = oracle.pool
    assert np.array_equal(oracle.index_of(pool), np.arange(len(oracle)))
    some = np.array([0, 5, len(oracle) - 1])
    assert oracle.pool_of(some).identities() == [pool.identities()[i] for i in some]
    outside = pool.take(np.arange(len(pool)) < 1)
    outside.matrices[0][0, 0] += 1
    assert oracle.index_of(outside).tolist() == [-1]


def test_an_oracle_is_the_truth(problem: Problem) -> None:
    oracle = survey(problem)
    found = truth(problem, oracle.pool)
    assert np.array_equal(found.latency_us, oracle.latency_us)
    assert np.array_equal(found.failure, oracle.failure)
    said = summary(oracle)
    assert said["optimum_us"] == pytest.approx(found.latency_us.min())
    assert said["valid_share"] == np.isfinite(found.latency_us).mean()
    s, row = oracle.pool.locate(int(found.latency_us.argmin()))
    assert said["best_candidate"] == problem.sketches[s].hash(row)


def test_a_value_is_valid_where_some_completion_is(problem: Problem) -> None:
    oracle = survey(problem)
    first = oracle.pool.sketches() == 0
    rows, works = oracle.pool.matrices[0], oracle.valid[first]
    for choice in search_spaces(problem, None)[0].choices:
        columns = rows[:, choice.start : choice.stop]
        expected = [works[(columns == o).all(axis=1)].any() for o in choice.options]
        assert oracle.node_validity()[0][choice.name].tolist() == expected


def test_a_measured_space_is_found_again(problem: Problem, tmp_path: Path) -> None:
    path = measure(problem, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name] == ["small.parquet"]
    loaded, now = load(problem, tmp_path), survey(problem)
    assert np.array_equal(loaded.latency_us, now.latency_us)
    assert np.array_equal(loaded.failure, now.failure)
    assert np.array_equal(loaded.rejects, now.rejects)


def test_two_that_measure_the_same_space_do_not_spoil_it(problem: Problem, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        paths = list(pool.map(lambda _: measure(problem, tmp_path), range(3)))
    assert [p.name for p in tmp_path.iterdir()] == [paths[0].name]
    assert len(load(problem, tmp_path)) == problem.size


def test_whole_parts_are_kept_and_torn_ones_measured_again(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "PART", 400)
    monkeypatch.setattr(measuring, "CHUNK", 128)
    done: list[int] = []

    def interrupted(n: int) -> None:
        done.append(n)
        if sum(done) > 900:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(problem, tmp_path, interrupted)
    _, second = sorted((tmp_path / "small.parts").glob("*.parquet"))
    second.write_bytes(second.read_bytes()[:-100])
    simulated: list[int] = []
    monkeypatch.setattr(
        measuring, "truth", lambda p, pool: simulated.append(len(pool)) or truth(p, pool)
    )
    told: list[int] = []
    path = measure(problem, tmp_path, told.append)
    assert sum(told) == problem.size
    assert sum(simulated) == problem.size - 400
    assert pq.read_table(path)["rank"].to_pylist() == list(range(problem.size))
    assert np.array_equal(load(problem, tmp_path).latency_us, survey(problem).latency_us)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (recipe(chip="mlu370-x4"), "measured for another chip: 'mlu370-s4', this is 'mlu370-x4'"),
        (recipe(workload="gemm:128x256x128:float16"), "measured for another workload"),
        (recipe(sketches=[1]), "measured for another space_hash"),
    ],
)
def test_the_oracle_of_something_else_is_refused(
    problem: Problem, tmp_path: Path, other: Recipe, said: str
) -> None:
    path = measure(problem, tmp_path)
    before = path.read_bytes()
    wrong = problem_of(msgspec.structs.replace(other, only={}))
    for attempt in (load, measure):
        with pytest.raises(OracleError, match=said) as error:
            attempt(wrong, tmp_path)
        assert "\n" not in str(error.value)
    assert path.read_bytes() == before


def test_a_changed_simulator_is_noticed(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure(problem, tmp_path)

    def slower(p: Problem, pool: Pool) -> Truth:
        found = truth(p, pool)
        return dataclasses.replace(found, latency_us=found.latency_us * 1.001)

    monkeypatch.setattr(lookup, "truth", slower)
    with pytest.raises(OracleError, match="the simulator has changed since"):
        load(problem, tmp_path)


def test_damage_is_one_line(problem: Problem, tmp_path: Path) -> None:
    with pytest.raises(OracleError, match="missing or damaged"):
        load(problem, tmp_path)
    (tmp_path / "small.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(OracleError, match="missing or damaged"):
        load(problem, tmp_path)
    pq.write_table(pq.read_table(measure(problem, tmp_path)).replace_schema_metadata(None),
                   tmp_path / "small.parquet")  # fmt: skip
    with pytest.raises(OracleError, match="not an oracle of prunelab"):
        load(problem, tmp_path)


def test_the_catalogue_covers_backends_and_operators() -> None:
    recipes = catalogue()
    assert len(recipes) >= 12
    chips = {load_chip(r.chip).backend for r in recipes.values()}
    assert chips == {"ascend_cube", "mlu_sram", "gpu_sm"}
    pairs = {(r.chip, r.workload) for r in recipes.values()}
    assert len(pairs) == len(recipes)
    assert {resolve(r.workload).kind for r in recipes.values()} >= {
        "gemm", "batch_matmul", "conv2d", "conv2d_bias_relu", "softmax", "layer_norm",
    }  # fmt: skip
    assert all(10**3 <= r.candidates <= 10**7 for r in recipes.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue())
def test_recipes_say_how_large_they_are(name: str) -> None:
    assert problem_of(catalogue()[name]).size == catalogue()[name].candidates


def test_what_ships_is_of_the_catalogue() -> None:
    shipped = {p.stem for p in SHIPPED.glob("*.parquet")}
    assert shipped <= set(catalogue())


@pytest.mark.parametrize("name", ["gpu-softmax", "mlu-conv"])
def test_what_ships_is_what_is_measured_today(name: str) -> None:
    shipped = load(catalogue()[name], SHIPPED)
    now = survey(shipped.problem)
    assert len(now) == catalogue()[name].candidates
    assert np.array_equal(shipped.rejects, now.rejects)
    assert np.array_equal(shipped.failure, now.failure)
    np.testing.assert_allclose(shipped.latency_us, now.latency_us, rtol=1e-12)


def test_what_is_left_of_a_space_by_values(problem: Problem) -> None:
    oracle, rng = survey(problem), np.random.default_rng(0)
    pool, masks, expected = oracle.pool, [], []
    for space, rows in zip(search_spaces(problem, None), pool.matrices, strict=True):
        first, second, *_ = space.choices
        kept = {c.name: rng.random(len(c.options)) < 0.7 for c in (first, second)}
        masks.append(kept)
        places = [(c, c.index(rows[:, c.start : c.stop])) for c in (first, second)]
        expected.append(np.logical_and(*(kept[c.name][place] for c, place in places)))
    left = oracle.allowed(masks)
    assert np.array_equal(left, np.concatenate(expected))
    assert 0 < left.sum() < len(left)
