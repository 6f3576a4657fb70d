"""The C++ engine against the rules' own numpy, number by number, on candidates of real sketches."""

from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

import numpy as np
import pytest

from hwsim.chips import load_chip
from hwsim.table import KernelTable
from pruner.features import FEATURE_NAMES, FEATURES, features
from pruner.forest import ForestOptions, predict, train
from pruner.recording import record
from pruner.recording.table import Layout
from pruner.rule import RUN_STATE, Finding
from pruner.rulesets import RULE_SETS, rule_set
from pruner.spec import print_rule
from pruner.trees import trees_of
from tuner.native import NativeEngine
from tuner.problem import Problem
from tuner.search import Pool
from tuner.workloads import resolve

CHIPS = ("ascend-910b1", "mlu370-s4", "a100-sxm-40gb", "local-cpu")
GEMM = {"a100-sxm-40gb": "gemm:128x96x256:float32"}  # others in half precision
SPECS = ("gemm", "softmax:64x200:float32", "conv2d:1x14x14x32x32x3x3x1x1:float16")
CASES = [(c, s) for c in CHIPS for s in SPECS if (c, s) != ("local-cpu", SPECS[1])]
BEST_US = 12.5  # for rules that follow the run


@cache
def candidates(chip: str, spec: str, n: int = 700) -> KernelTable:
    """About ``n`` random candidates, every sketch in equal parts."""
    spec = GEMM.get(chip, "gemm:128x96x256:float16") if spec == "gemm" else spec
    problem, rng = Problem.of(resolve(spec), load_chip(chip)), np.random.default_rng(3)
    share = -(-n // len(problem.sketches))
    return problem.kernels(Pool(tuple(s.sample(rng, share) for s in problem.sketches)))


def rules_for(chip: str) -> list:
    """Every trial rule of every set, those that follow the run with a best latency."""
    backend = load_chip(chip).backend
    known = {print_rule(r): r for name in RULE_SETS for r in rule_set(name).trial}
    mine = [rule for rule in known.values() if backend in rule.backends]
    return [r.with_best(BEST_US) if hasattr(r, "with_best") else r for r in mine]


def compare(rules, chip, table, engine):
    """Every number of every finding, and the code of the first that objects."""
    found = engine.findings(table)
    objects = np.full(table.n_candidates, -1)
    for k, i in reversed(list(enumerate(engine.recorded.rules))):
        expected = rules[i].check(table, chip)
        for side in ("keep", "need", "have"):
            np.testing.assert_array_equal(
                getattr(found[i], side), getattr(expected, side), err_msg=print_rule(rules[i])
            )
        words = ("quantity", "unit", "reason", "benefit", "basis")
        assert [getattr(found[i], w) for w in words] == [getattr(expected, w) for w in words]
        objects[~table.per_candidate(expected.keep, np.logical_and).astype(bool)] = k
    np.testing.assert_array_equal(engine.run(table).code, objects)


@pytest.mark.parametrize(("chip", "spec"), CASES)
def test_rules_and_features_to_the_last_bit(library, chip, spec):
    table, of, rules = candidates(chip, spec), load_chip(chip), rules_for(chip)
    engine = NativeEngine(record(rules, of, Layout.of(table), gate=True))
    compare(rules, of, table, engine)
    expected, got = features(table, of), engine.run(table).features
    for k, name in enumerate(FEATURE_NAMES):
        np.testing.assert_array_equal(got[:, k], expected[:, k], err_msg=name)


@pytest.mark.parametrize("chip", CHIPS)
def test_one_candidate_alone_is_what_it_is_in_a_batch(library, chip):
    table, of, rules = candidates(chip, SPECS[0]), load_chip(chip), rules_for(chip)
    engine = NativeEngine(record(rules, of, Layout.of(table), gate=True))
    batch = engine.run(table)
    for i in (0, 1, table.n_candidates - 1):
        alone = engine.run(table.take_candidates([i]))
        assert alone.code[0] == batch.code[i]
        np.testing.assert_array_equal(alone.features[0], batch.features[i])


def test_candidates_of_several_rows_stay_whole_across_blocks(library):
    one = candidates("a100-sxm-40gb", SPECS[1])
    sizes = np.random.default_rng(5).integers(1, 40, 120)
    sizes[7] = 600  # more rows than a block
    rows = np.random.default_rng(6).integers(0, one.n, sizes.sum())
    columns = {name: one[name][rows] for name in one}
    columns["candidate"] = np.repeat(np.arange(len(sizes)), sizes)
    table, of = KernelTable("gpu_sm", len(rows), columns), load_chip("a100-sxm-40gb")
    rules = rules_for("a100-sxm-40gb")
    engine = NativeEngine(record(rules, of, Layout.of(table), gate=True))
    compare(rules, of, table, engine)
    np.testing.assert_array_equal(engine.run(table).features, features(table, of))


@pytest.mark.parametrize("chip", CHIPS)
def test_only_these_rules_stay_with_numpy(chip):
    table = candidates(chip, SPECS[0])
    left = record(rules_for(chip), load_chip(chip), Layout.of(table), gate=True).left_out
    names = {spec.split("{")[0] for spec in left}
    assert names <= {"mean-cost", "vector-length"}
    assert "mean-cost" in names  # its answer depends on the batch


def test_trees_of_lightgbm_to_the_last_bit(library):
    table, of = candidates("mlu370-s4", SPECS[0]), load_chip("mlu370-s4")
    x = features(table, of)
    booster = train(x, np.log(x[:, 0] + x[:, 13]) + x[:, 4], ForestOptions(leaves=31))
    recorded = record([], of, Layout.of(table), gate=True)
    got = NativeEngine(recorded, trees_of(booster)).run(table).trees
    np.testing.assert_array_equal(got, predict(booster, x))


@pytest.mark.parametrize("leaves", [2, 8, 32])
def test_trees_on_and_around_their_thresholds(library, leaves):
    """A split has to go the same way for the float32 numbers next to its threshold."""
    rng, of = np.random.default_rng(leaves), load_chip("ascend-910b1")
    table = candidates("ascend-910b1", SPECS[0])
    x = features(table, of)
    booster = train(x, rng.normal(size=len(x)), ForestOptions(leaves=leaves, trees=30))
    trees = trees_of(booster)
    nodes = [
        (f, t) for tree in trees.trees for f, t in zip(tree.feature, tree.threshold, strict=True)
    ]
    names = {FEATURES[f].name for f, _ in nodes}
    assert nodes
    assert names <= set(FEATURE_NAMES)
    columns = {name: table[name] for name in table}
    near = [np.float32(t) for f, t in nodes if FEATURES[f].name == "tile_m"]
    if near:  # the one feature that is a column as it stands
        columns["tile_m"] = np.resize(np.rint(near).astype(np.int64), table.n)
    moved = KernelTable(table.backend, table.n, columns)
    engine = NativeEngine(record([], of, Layout.of(moved), gate=True), trees)
    np.testing.assert_array_equal(engine.run(moved).trees, predict(booster, features(moved, of)))


@dataclass(frozen=True)
class Arithmetic:
    """A user's rule that goes through most of what can be recorded."""

    name: ClassVar[str] = "arithmetic"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube",)
    hard: ClassVar[bool] = False

    least: int = 3
    state: float = field(default=0.0, metadata=RUN_STATE)

    def check(self, table, chip):
        """Nothing sensible."""
        a, b = table["tile_m"], table["tile_n"]
        need = np.sqrt(np.abs(a - b) / np.maximum(b, 1)) + np.floor(table["macs"] / 7.0)
        need[a > b] = 4
        need += np.where(a > self.least, a * b, -b).astype(np.float64)
        have = np.clip(np.negative(need), -1e9, 1e9) * 2.0 ** a.clip(1, 8)
        either = (a >= b) ^ (table["k_steps"] != 1) | ~np.isfinite(need)
        return Finding(either & (need < have), "nothing", need, have, "B", "need {need}")


def test_a_users_rule_is_recorded_as_it_is(library):
    table, of = candidates("ascend-910b1", SPECS[0]), load_chip("ascend-910b1")
    engine = NativeEngine(record([Arithmetic()], of, Layout.of(table)))
    compare([Arithmetic()], of, table, engine)
