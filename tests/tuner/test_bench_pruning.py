"""What pruning costs on real sketches; run with ``--benchmark-enable``.

The targets: task stage below 1 ms a task, trial stage below 0.2 ms for a candidate alone and
5 us a candidate in a batch.  Counted from a kernel table to a judgement, and from decisions to a
judgement; written-out verdicts are not in it.  The time a candidate is in ``extra_info`` as
``us_per_candidate``.  The rules run in Python: ``native/test_bench_native.py`` has C++.
"""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

from hwsim.chips import load_chip
from hwsim.table import KernelTable
from pruner.gate import Gate
from pruner.judgement import GATE, KEPT
from pruner.rulesets import rule_set
from pruner.task_stage import TaskStage
from pruner.trial import TrialStage
from tuner.describe import describe
from tuner.problem import Problem
from tuner.search import Pool
from tuner.truth import truth
from tuner.workloads import resolve

CHIPS = ("ascend-910b1", "mlu370-s4", "a100-sxm-40gb")
SPECS = ("gemm:1024x1024x1024:float16", "resnet50.c3.3x3")
FEW = {KEPT: 256, GATE: 4096}  # candidates, among which is one that is kept, or pruned by the gate
TAUGHT = 256  # measurements that the gate has learned from, as late in a run


@cache
def problem(chip: str, spec: str) -> Problem:
    return Problem.of(resolve(spec), load_chip(chip))


@cache
def pool(chip: str, spec: str, n: int, seed: int) -> Pool:
    """About ``n`` random candidates, the sketches in equal parts."""
    sketches, rng = problem(chip, spec).sketches, np.random.default_rng(seed)
    return Pool(tuple(s.sample(rng, -(-n // len(sketches))) for s in sketches))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("spec", SPECS)
def test_bench_task_stage(benchmark: Any, chip: str, spec: str) -> None:
    """All rules over all sketches of a task; the time a sketch is in ``extra_info``."""
    tasks = [describe(sketch) for sketch in problem(chip, spec).sketches]
    stage = TaskStage(rule_set("default").task, load_chip(chip))
    results = benchmark(lambda: [stage.run(task) for task in tasks])
    before, after = sum(r.nodes_before for r in results), sum(r.nodes_after for r in results)
    benchmark.extra_info |= {"nodes": [before, after], "sketches": len(tasks)}
    if benchmark.stats:  # not where benchmarks are disabled
        us_per_sketch = benchmark.stats["min"] * 1e6 / len(tasks)
        benchmark.extra_info["us_per_sketch"] = round(us_per_sketch, 1)
    assert 0 < after <= before


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("spec", SPECS)
def test_bench_first_task_stage(benchmark: Any, chip: str, spec: str) -> None:
    """The same where nothing of the tasks has been asked for before."""
    described = pickle.dumps([describe(sketch) for sketch in problem(chip, spec).sketches])
    stage = TaskStage(rule_set("default").task, load_chip(chip))
    results = benchmark.pedantic(
        lambda tasks: [stage.run(task) for task in tasks],
        setup=lambda: ((pickle.loads(described),), {}),
        rounds=1000 if benchmark.enabled else 1,
    )
    assert all(r.nodes_after > 0 for r in results)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("spec", SPECS)
def test_bench_describing_a_sketch(benchmark: Any, chip: str, spec: str) -> None:
    """What comes before the task stage, once a sketch."""
    sketch = problem(chip, spec).sketches[0]
    assert benchmark(lambda: describe(sketch)).decisions


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("n", [1, 4096])
def test_bench_trial_stage(benchmark: Any, chip: str, spec: str, n: int) -> None:
    """Rules, features, gate and probes over kernel tables; of a single candidate that is kept."""
    _, table, hashes, stage = _offered(chip, spec, n)
    judged = benchmark(lambda: stage.judge(table, hashes))
    _say(benchmark, len(judged), kept=int(judged.keep.sum()))


@pytest.mark.parametrize("chip", CHIPS)
def test_bench_pruned_by_the_gate(benchmark: Any, chip: str) -> None:
    """The same of a single candidate that the gate prunes: its folds and the draft are asked."""
    _, table, hashes, stage = _offered(chip, SPECS[0], 1, GATE)
    judged = benchmark(lambda: stage.judge(table, hashes))
    assert judged.code.tolist() == [GATE]
    _say(benchmark, len(judged))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("n", [1, 4096])
def test_bench_from_decisions_to_judgement(benchmark: Any, chip: str, spec: str, n: int) -> None:
    """The same with what it takes to get there: kernel tables and hashes from decisions."""
    of, (offered, _, _, stage) = problem(chip, spec), _offered(chip, spec, n)
    judged = benchmark(lambda: stage.judge(of.kernels(offered), of.hashes(offered)))
    _say(benchmark, len(judged))


def _offered(
    chip: str, spec: str, n: int, code: int = KEPT
) -> tuple[Pool, KernelTable, list[str], TrialStage]:
    """``n`` candidates, and a stage with a gate that has learned.  A single one is one that rules
    and gate keep, or what ``code`` says: it goes the whole way.
    """
    of, rules = problem(chip, spec), rule_set("default")
    stage = TrialStage(rules.trial, Gate(rules.gate), load_chip(chip))
    seen = pool(chip, spec, TAUGHT, 0)
    stage.observe(of.kernels(seen), of.hashes(seen), truth(of, seen).latency_us)
    offered = pool(chip, spec, max(n, FEW[code]), 1)
    wanted = stage.judge(of.kernels(offered), of.hashes(offered)).code == code
    chosen = np.argsort(~wanted if n == 1 else np.zeros(len(wanted)), kind="stable")[:n]
    offered = offered.take(np.isin(np.arange(len(wanted)), chosen))
    return offered, of.kernels(offered), of.hashes(offered), stage


def _say(benchmark: Any, n: int, **more: int) -> None:
    benchmark.extra_info |= {"candidates": n, **more}
    if benchmark.stats:  # not where benchmarks are disabled
        benchmark.extra_info["us_per_candidate"] = round(benchmark.stats["median"] * 1e6 / n, 2)
