"""What judging costs by C++ and by Python, one after the other in one run.

``pytest tests/tuner/native/test_bench_native.py --benchmark-enable``; the figures are in
``extra_info``: microseconds a candidate of both, the best of the repeats, and Python's over C++'s.
From a kernel table to a judgement; a single candidate is one that rules and gate keep.
"""

from functools import cache
from time import process_time

import numpy as np
import pytest

from hwsim.chips import load_chip
from pruner.gate import Gate
from pruner.judgement import KEPT
from pruner.recording.stage import RecordedStage
from pruner.rulesets import rule_set
from pruner.trial import TrialStage
from tuner.native.engine import NativeEngine
from tuner.problem import Problem
from tuner.search import Pool
from tuner.truth import truth
from tuner.workloads import resolve

CHIPS = ("ascend-910b1", "mlu370-s4", "a100-sxm-40gb")
SPEC = "gemm:1024x1024x1024:float16"
TAUGHT, FEW, REPEATS = 256, 256, 50


@cache
def offered(chip, n):
    """Tables, hashes and latencies of what the gate learns from and of ``n`` others."""
    problem = Problem.of(resolve(SPEC), load_chip(chip))
    pools = []
    for seed, size in ((0, TAUGHT), (1, n)):
        rng, share = np.random.default_rng(seed), -(-size // len(problem.sketches))
        pools.append(Pool(tuple(s.sample(rng, share) for s in problem.sketches)))
    seen, fresh = pools
    learned = problem.kernels(seen), problem.hashes(seen), truth(problem, seen).latency_us
    return learned, problem.kernels(fresh).take_candidates(np.arange(n)), problem.hashes(fresh)[:n]


@pytest.mark.parametrize("n", [1, 4096])
@pytest.mark.parametrize("chip", CHIPS)
def test_bench_judging(benchmark, library, chip, n):
    learned, table, hashes = offered(chip, max(n, FEW))
    rules, of = rule_set("default"), load_chip(chip)
    stages = [
        TrialStage(rules.trial, Gate(rules.gate), of, engine=engine)
        for engine in (RecordedStage(of, NativeEngine), None)
    ]
    for stage in stages:
        stage.observe(*learned)
    native, plain = stages
    if n == 1:
        kept = int(np.argmax(plain.judge(table, hashes).code == KEPT))
        table, hashes = table.take_candidates([kept]), [hashes[kept]]
    judged = benchmark(native.judge, table.anew(), hashes)
    np.testing.assert_array_equal(judged.code, plain.judge(table, hashes).code)
    if benchmark.disabled:
        return
    taken = []
    for _ in range(REPEATS):
        started = process_time()
        plain.judge(table, hashes)
        taken.append(process_time() - started)
    native_us, python_us = (s * 1e6 / n for s in (benchmark.stats.stats.min, min(taken)))
    benchmark.extra_info.update(
        native_us=round(native_us, 2),
        python_us=round(python_us, 2),
        python_over_native=round(python_us / native_us, 1),
    )
