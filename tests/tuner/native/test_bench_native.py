"""What judging costs by C++ and by numpy, one after the other in one run.

``pytest tests/tuner/native/test_bench_native.py --benchmark-enable``; the figures are in
``extra_info``: microseconds a candidate of both, and numpy's over C++'s.
"""

from functools import cache
from statistics import median
from time import perf_counter

import numpy as np
import pytest

from hwsim.chips import load_chip
from pruner.gate import Gate
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
TAUGHT, REPEATS = 256, 20


@cache
def offered(chip, n):
    """Tables, hashes and latencies of what the gate learns from and of what is judged."""
    problem = Problem.of(resolve(SPEC), load_chip(chip))
    pools = []
    for seed, size in ((0, TAUGHT), (1, n)):
        rng, share = np.random.default_rng(seed), -(-size // len(problem.sketches))
        pools.append(Pool(tuple(s.sample(rng, share) for s in problem.sketches)))
    seen, fresh = pools
    learned = problem.kernels(seen), problem.hashes(seen), truth(problem, seen).latency_us
    table = problem.kernels(fresh).take_candidates(np.arange(n))
    return learned, table, problem.hashes(fresh)[:n]


@pytest.mark.parametrize("n", [1, 4096])
@pytest.mark.parametrize("chip", CHIPS)
def test_bench_judging(benchmark, library, chip, n):
    learned, table, hashes = offered(chip, n)
    rules, of = rule_set("default"), load_chip(chip)
    stages = [
        TrialStage(rules.trial, Gate(rules.gate), of, engine=engine)
        for engine in (RecordedStage(of, NativeEngine), None)
    ]
    for stage in stages:
        stage.observe(*learned)
    native, plain = stages
    judged = benchmark(native.judge, table.anew(), hashes)
    np.testing.assert_array_equal(judged.code, plain.judge(table, hashes).code)
    if benchmark.disabled:
        return
    taken = []
    for _ in range(REPEATS):
        started = perf_counter()
        plain.judge(table, hashes)
        taken.append(perf_counter() - started)
    native_us, numpy_us = (s * 1e6 / n for s in (benchmark.stats.stats.median, median(taken)))
    benchmark.extra_info.update(
        native_us=round(native_us, 2),
        numpy_us=round(numpy_us, 2),
        numpy_over_native=round(numpy_us / native_us, 1),
    )
