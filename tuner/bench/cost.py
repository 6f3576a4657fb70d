"""What pruning costs in wall time; goes into ``timings.json``, never into results."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from pruner.gate import Gate
from pruner.rulesets import Rules
from pruner.task_stage import TaskStage
from pruner.trial import TrialStage
from tuner.bench.reference import Reference
from tuner.native.stage import native_stage
from tuner.problem import Problem

BATCH = 4096
TAUGHT = 256  # measurements that the gate is trained on before it is timed
REPEATS = 5


def pruning_cost(problem: Problem, rules: Rules, reference: Reference) -> dict[str, float]:
    """Microseconds: ``task_us`` a task, ``gate_us_single`` and ``gate_us_batch`` a candidate.

    The kernel tables are made beforehand; what is timed is rules, features, gate and probes.
    """
    stage = TaskStage(rules.task, problem.chip, rules.name)
    task_s = statistics.mean(_seconds(partial(stage.run, task)) for task in problem.tasks)
    part = next(iter(reference.parts()))
    table, latency_us = part.table, reference.latency_us[part.rows[part.readable]]
    chip = problem.chip
    trial = TrialStage(rules.trial, Gate(rules.gate, seed=0), chip, engine=native_stage(chip))
    taught = np.arange(min(TAUGHT, table.n_candidates))
    hashes = [str(i) for i in range(table.n_candidates)]
    trial.observe(table.take_candidates(taught), hashes[: len(taught)], latency_us[taught])
    batch = table.take_candidates(np.arange(min(BATCH, table.n_candidates)))
    single = table.take_candidates([0])
    n = batch.n_candidates
    return {
        "task_us": round(task_s * 1e6, 1),
        "gate_us_single": round(_seconds(lambda: trial.judge(single, hashes[:1])) * 1e6, 1),
        "gate_us_batch": round(_seconds(lambda: trial.judge(batch, hashes[:n])) * 1e6 / n, 2),
    }


def _seconds(work: Callable[[], object]) -> float:
    """Median of a few runs, after one to warm up."""
    work()
    taken = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)
