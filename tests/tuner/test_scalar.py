"""A single candidate's road, Python's own numbers, against numpy's: the same to the last bit."""

from dataclasses import dataclass
from functools import cache
from itertools import cycle, product
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwsim.chips import load_chip
from hwsim.table import KernelTable
from pruner.draft import draft_us
from pruner.features import features
from pruner.forest import ForestOptions, predict, train
from pruner.gate import Gate
from pruner.recording import record
from pruner.recording.stage import Scalar
from pruner.recording.table import Layout
from pruner.rule import Finding
from pruner.rulesets import RULE_SETS, rule_set
from pruner.spec import print_rule
from pruner.testing import random_table
from pruner.trees import Walk, trees_of
from pruner.trial import TrialStage
from pruner.verdict import to_json
from tuner.problem import Problem
from tuner.search import Pool
from tuner.truth import truth
from tuner.workloads import resolve

CHIPS = ("ascend-910b1", "mlu370-s4", "a100-sxm-40gb", "local-cpu")
SPECS = ("gemm:128x96x256:float16", "conv2d:1x14x14x32x32x3x3x1x1:float16")


@cache
def problem(chip, spec):
    return Problem.of(resolve(spec), load_chip(chip))


def pool(chip, spec, n, seed):
    """About ``n`` random candidates, every sketch in equal parts."""
    sketches, rng = problem(chip, spec).sketches, np.random.default_rng(seed)
    return Pool(tuple(s.sample(rng, -(-n // len(sketches))) for s in sketches))


def rules_for(chip):
    """Every trial rule of every set, those that follow the run with a best latency."""
    backend = load_chip(chip).backend
    known = {print_rule(r): r for name in RULE_SETS for r in rule_set(name).trial}
    mine = [rule for rule in known.values() if backend in rule.backends]
    return [r.with_best(12.5) if hasattr(r, "with_best") else r for r in mine]


@pytest.mark.parametrize(("chip", "spec"), list(product(CHIPS, SPECS)))
def test_rules_and_features(chip, spec):
    of, rules, table = load_chip(chip), rules_for(chip), problem(chip, spec).kernels(
        pool(chip, spec, 120, 3)
    )  # fmt: skip
    rows = [table.take_candidates([i]) for i in range(table.n_candidates)]
    rows = [row for row in rows if row.n == 1]
    engine = Scalar(record(rules, of, Layout.of(rows[0]), gate=True))
    assert len(engine.recorded.rules) > len(rules) / 2
    kept = 0
    for row in rows:
        found, said, objects = engine.findings(row), engine.run(row), -1
        for k, i in reversed(list(enumerate(engine.recorded.rules))):
            expected = rules[i].check(row, of)
            for side in ("keep", "need", "have"):
                got, want = getattr(found[i], side), getattr(expected, side)
                np.testing.assert_array_equal(got, want, err_msg=print_rule(rules[i]))
                assert got.dtype == want.dtype
            objects = objects if expected.keep[0] else k
        assert said.code[0] == objects
        if objects < 0:
            np.testing.assert_array_equal(said.features, features(row, of))
            kept += 1
    assert kept


@pytest.mark.parametrize("chip", CHIPS)
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 1000))
def test_draft_of_random_rows(chip, seed):
    of = load_chip(chip)
    check_drafts(of, random_table(of.backend, 20, np.random.default_rng(seed)))


@pytest.mark.parametrize(("chip", "spec"), list(product(CHIPS, SPECS)))
def test_draft_of_sketches(chip, spec):
    check_drafts(load_chip(chip), problem(chip, spec).kernels(pool(chip, spec, 120, 5)))


def check_drafts(chip, table):
    """The draft of every candidate of one row is numpy's, alone and in the batch."""
    drafts, engine = draft_us(table, chip), None
    for i in range(table.n_candidates):
        row = table.take_candidates([i])
        if row.n > 1:
            continue
        if engine is None:
            engine = Scalar(record([], chip, Layout.of(row), gate=True, draft=True))
            assert not engine.recorded.left_out
        assert engine.run(row).draft_us() == draft_us(row, chip)[0] == drafts[i]
    assert engine is not None


A, B, K, L = "shared_bytes", "vector_bytes", "blocks", "threads"  # two floats, two integers
FLOATS = (0.0, -0.0, 1.0, -2.5, 7.0, 1e-300, 1e300, 2.0**53 + 2, np.inf, -np.inf, np.nan)
INTS = (0, 1, -7, 3, 2**31, -(2**62), 2**63 - 1)
EXPRESSIONS = {
    "add": lambda t: t[A] + t[B],
    "subtract": lambda t: t[A] - t[B],
    "multiply": lambda t: t[A] * t[B],
    "divide": lambda t: t[A] / t[B],
    "maximum": lambda t: np.maximum(t[A], t[B]) + 0.0,  # of 0.0 and -0.0 either is the largest
    "minimum": lambda t: np.minimum(t[A], t[B]) + 0.0,
    "ceil": lambda t: np.ceil(t[A]),
    "floor": lambda t: np.floor(t[A]),
    "sqrt": lambda t: np.sqrt(t[A]),
    "absolute": lambda t: np.abs(t[A]),
    "negative": lambda t: -t[A],
    "exp2": lambda t: 2.0 ** t[A],
    "isfinite": lambda t: np.isfinite(t[A]),
    "where": lambda t: np.where(t[A] < t[B], t[A], t[B]),
    "less": lambda t: t[A] < t[B],
    "less_equal": lambda t: t[A] <= t[B],
    "greater": lambda t: t[A] > t[B],
    "greater_equal": lambda t: t[A] >= t[B],
    "equal": lambda t: t[A] == t[B],
    "not_equal": lambda t: t[A] != t[B],
    "and": lambda t: (t[A] < t[B]) & (t[K] < t[L]),
    "or": lambda t: (t[A] < t[B]) | (t[K] < t[L]),
    "xor": lambda t: (t[A] < t[B]) ^ (t[K] < t[L]),
    "not": lambda t: ~(t[A] < t[B]),
    "int add": lambda t: t[K] + t[L],
    "int subtract": lambda t: t[K] - t[L],
    "int multiply": lambda t: t[K] * t[L],
    "int maximum": lambda t: np.maximum(t[K], t[L]),
    "int minimum": lambda t: np.minimum(t[K], t[L]),
    "int absolute": lambda t: np.abs(t[K]),
    "int negative": lambda t: -t[K],
    "int equal": lambda t: t[K] == t[L],
    "int where": lambda t: np.where(t[K] >= t[L], t[K], t[L]),
    "bool to int": lambda t: (t[K] > t[L]) + t[L],
}


@dataclass(frozen=True)
class Expression:
    """Needs what one of the expressions says."""

    name: ClassVar[str] = "expression"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = False

    which: str

    def check(self, table, chip):
        need = EXPRESSIONS[self.which](table).astype(np.float64)
        have = np.full(table.n, 4.0)
        return Finding(need < have, "nothing", need, have, "B", "need {need}")


@pytest.mark.parametrize("which", EXPRESSIONS)
def test_an_operation_is_numpys(which):
    """Where numpy wraps around, the scalar road steps back; everywhere else they are the same."""
    rule, of = Expression(which), load_chip("a100-sxm-40gb")
    engine = Scalar(record([rule], of, Layout("gpu_sm", frozenset((A, B, K, L)), False)))
    assert engine.recorded.rules
    said = 0
    for a, b, (i, j) in zip(FLOATS * 11, np.repeat(FLOATS, 11), cycle(product(INTS, INTS))):
        given = {A: np.array([a]), B: np.array([b]), K: np.array([i]), L: np.array([j])}
        table = KernelTable._of_checked("gpu_sm", 1, given)
        with np.errstate(all="ignore"):
            expected = rule.check(table, of)
        try:
            got = engine.findings(table)[0]
        except OverflowError:
            assert max(abs(i), abs(j)) >= 2**31
            continue
        said += 1
        assert got.need.tobytes() == expected.need.tobytes() or np.isnan(got.need + expected.need)
        assert got.keep.tobytes() == expected.keep.tobytes()
    assert said > 50


def test_trees_around_their_thresholds():
    rng, of = np.random.default_rng(1), load_chip("mlu370-s4")
    x = features(problem("mlu370-s4", SPECS[0]).kernels(pool("mlu370-s4", SPECS[0], 300, 1)), of)
    booster = train(x, rng.normal(size=len(x)), ForestOptions(leaves=32, trees=40))
    trees = trees_of(booster)
    walk = Walk([trees])
    nodes = [n for t in trees.trees for n in zip(t.feature, t.threshold, strict=True)]
    assert len(nodes) > 100
    for f, threshold in nodes:
        near = x[rng.integers(len(x))].copy()
        near[f] = np.nextafter(np.float32(threshold), np.float32(rng.choice([-np.inf, np.inf])))
        assert walk(near) == predict(booster, near[None])[0]


def test_forests_of_different_sizes():
    rng, large = np.random.default_rng(2), ForestOptions(leaves=32, trees=9)
    x = rng.normal(size=(200, 38)).astype(np.float32)
    trees = [train(x, rng.normal(size=200), o) for o in (large, ForestOptions(leaves=4, trees=20))]
    trees.append(train(x, np.full(len(x), 3.25), ForestOptions(trees=3)))  # of one leaf
    walk = Walk([trees_of(booster) for booster in trees])
    for row in x[:50]:
        assert walk(row).tolist() == [predict(booster, row[None])[0] for booster in trees]


def test_trees_of_one_leaf():
    x = np.ones((20, 38), np.float32)
    booster = train(x, np.full(20, 3.25), ForestOptions(trees=3))
    assert Walk([trees_of(booster)])(x[0]) == predict(booster, x[:1])[0]


class Silent:
    """An engine that leaves everything to numpy."""

    def read(self, rules, gate, table):
        return None


@pytest.mark.parametrize("chip", CHIPS[:3])
@pytest.mark.parametrize("rules", ["default", "as-described", "default+mean-cost"])
def test_judgements_and_explanations_of_single_candidates(chip, rules):
    of, chosen, task = load_chip(chip), rule_set(rules), problem(chip, SPECS[0])
    stages = [
        TrialStage(chosen.trial, Gate(chosen.gate), of, epsilon=0.1, engine=engine)
        for engine in (None, Silent())
    ]
    for round_ in range(2):
        seen, fresh = (pool(chip, SPECS[0], n, 7 + round_) for n in (100, 40))
        learned = task.kernels(seen), task.hashes(seen), truth(task, seen).latency_us
        table, hashes = task.kernels(fresh), task.hashes(fresh)
        for i in range(table.n_candidates):
            one = table.take_candidates([i])
            a, b = (stage.judge(one, hashes[i : i + 1]) for stage in stages)
            for name in ("keep", "code", "probe", "penalty_us", "probability"):
                np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
            assert a.note == b.note
            assert to_json(a.explain(0)) == to_json(b.explain(0))
            assert to_json(a.verdict(0)) == to_json(b.verdict(0))
        for stage in stages:
            stage.observe(*learned)
    assert stages[0].gate.ready


@dataclass(frozen=True)
class Breaks(Expression):
    """Answers a single row and what records, and breaks over more numbers than one."""

    name: ClassVar[str] = "breaks"
    which: str = "add"

    def check(self, table, chip):
        if isinstance(table, KernelTable) and table.n > 1:
            raise ValueError("too many")
        return super().check(table, chip)


def test_what_broke_in_a_batch_is_not_asked_about_a_single_candidate():
    stage = TrialStage([Breaks()], None, load_chip("a100-sxm-40gb"), epsilon=0.0)
    batch = KernelTable.of("gpu_sm", shared_bytes=[9.0, 9.0])
    one = batch.take_candidates([0])
    assert stage.judge(one, ["a"], rescue=False).code.tolist() == [0]
    assert stage.judge(batch, ["a", "b"]).code.tolist() == [-1, -1]
    assert stage.judge(one, ["a"], rescue=False).code.tolist() == [-1]
    assert stage.disabled == {"breaks{which=add}": "ValueError: too many"}
