"""A trial stage with the C++ engine decides and explains as one with numpy, byte for byte."""

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import numpy as np
import pytest

from hwsim.chips import load_chip
from hwsim.table import KernelTable
from pruner.gate import Gate
from pruner.recording.stage import RecordedStage
from pruner.rule import Finding
from pruner.rulesets import rule_set
from pruner.trial import TrialStage
from pruner.verdict import to_json
from tuner.native.engine import NativeEngine
from tuner.problem import Problem
from tuner.search import Pool
from tuner.truth import truth
from tuner.workloads import resolve

CASES = [
    ("ascend-910b1", "gemm:128x96x256:float16", "default"),
    ("mlu370-s4", "gemm:128x96x256:float16", "as-described"),
    ("a100-sxm-40gb", "softmax:64x200:float32", "default+mean-cost"),
]


def pools(chip, spec):
    """Kernel tables and hashes of three batches, and latencies."""
    problem, rng = Problem.of(resolve(spec), load_chip(chip)), np.random.default_rng(1)
    for _ in range(3):
        pool = Pool(tuple(s.sample(rng, 100) for s in problem.sketches))
        yield problem.kernels(pool), problem.hashes(pool), truth(problem, pool).latency_us


@pytest.mark.parametrize(("chip", "spec", "rules"), CASES)
def test_the_same_judgements_and_explanations(library, chip, spec, rules):
    of, chosen = load_chip(chip), rule_set(rules)
    plain, native = (
        TrialStage(chosen.trial, Gate(chosen.gate), of, epsilon=0.1, engine=engine)
        for engine in (None, RecordedStage(of, NativeEngine))
    )
    for table, hashes, latency_us in pools(chip, spec):
        a, b = (stage.judge(table, hashes) for stage in (plain, native))
        for name in ("keep", "code", "probe", "penalty_us", "probability"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
        assert (a.rules, a.note, a.disabled) == (b.rules, b.note, b.disabled)
        said = [[to_json(j.explain(i)) for i in range(len(j))] for j in (a, b)]
        assert said[0] == said[1]
        for stage in (plain, native):
            stage.observe(table, hashes, latency_us)
    assert plain.gate.ready


def test_the_same_where_limits_are_raised(library):
    of = load_chip("ascend-910b1")
    low = msgspec.structs.replace(of, l0c_kib=of.l0c_kib // 4, l0a_kib=of.l0a_kib // 4)
    plain, native = (
        TrialStage(rule_set("default").trial, None, low, engine=engine)
        for engine in (None, RecordedStage(low, NativeEngine))
    )
    for table, hashes, latency_us in pools("ascend-910b1", "gemm:512x512x512:float16"):
        a, b = (stage.judge(table, hashes) for stage in (plain, native))
        assert [to_json(a.explain(i)) for i in range(len(a))] == [
            to_json(b.explain(i)) for i in range(len(b))
        ]
        for stage in (plain, native):
            stage.observe(table, hashes, latency_us)
        assert plain.limits.raised == native.limits.raised != []


def test_a_batch_of_which_nothing_is_left(library):
    of = load_chip("ascend-910b1")
    rules = rule_set("default+core-starvation{min_share=1.0}")
    table, hashes, _ = next(pools("ascend-910b1", "gemm:128x96x256:float16"))
    a, b = (
        TrialStage(rules.trial, None, of, epsilon=0.0, engine=engine).judge(table, hashes)
        for engine in (None, RecordedStage(of, NativeEngine))
    )
    bad = np.flatnonzero(~a.keep)
    worst, names = table.take_candidates(bad), [hashes[i] for i in bad]
    a, b = (
        TrialStage(rules.trial, None, of, epsilon=0.0, engine=engine).judge(worst, names)
        for engine in (None, RecordedStage(of, NativeEngine))
    )
    assert a.note
    assert (a.note, a.keep.tolist()) == (b.note, b.keep.tolist())


@dataclass(frozen=True)
class Sniffer:
    """Answers something else where it is not given numbers."""

    name: ClassVar[str] = "sniffer"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = False

    def check(self, table, chip):
        blocks = table["blocks"].astype(np.float64)
        have = np.full(table.n, 3.0 if isinstance(blocks, np.ndarray) else 1.0)
        return Finding(blocks <= have, "blocks", blocks, have, "blocks", "too many")


@dataclass(frozen=True)
class Swallower(Sniffer):
    """Does not let on that something went wrong."""

    name: ClassVar[str] = "swallower"

    def check(self, table, chip):
        keep = np.ones(table.n, bool)
        with suppress(Exception):
            keep = table["blocks"] <= table["blocks"].min()
        return Finding(keep, "blocks", np.ones(table.n), np.ones(table.n), "blocks", "too many")


@dataclass(frozen=True)
class Misshapen(Sniffer):
    """Answers a column that is too short."""

    name: ClassVar[str] = "misshapen"

    def check(self, table, chip):
        one = np.ones(table.n)
        return Finding(np.zeros(2, bool), "blocks", one, one, "blocks", "too many")


@dataclass(frozen=True)
class Vandal(Sniffer):
    """Writes where it should read."""

    name: ClassVar[str] = "vandal"

    def check(self, table, chip):
        table["blocks"][:] = 7


@pytest.mark.parametrize("rule", [Sniffer(), Swallower(), Misshapen(), Vandal()])
def test_odd_rules_get_numpys_answer(library, rule):
    of = load_chip("a100-sxm-40gb")
    table = KernelTable.of("gpu_sm", blocks=[1, 2, 3, 4])
    engine = RecordedStage(of, NativeEngine)
    plain, native = (TrialStage([rule], None, of, epsilon=0.0, engine=e) for e in (None, engine))
    a, b = (stage.judge(table, list("abcd"), rescue=False) for stage in (plain, native))
    assert a.code.tolist() == b.code.tolist()
    assert plain.disabled == native.disabled
    assert engine.read((rule,), None, table).rules == ()
