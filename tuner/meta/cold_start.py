"""Time to the first good schedule of a task: the model as a prior, a cold gate, and nothing.

A schedule is good whose true latency is within 10 % of the best that is known: the best of a random
sample, of a climb with the simulator itself as the cost model, and of all runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from hwsim.chips import load_chip
from pruner.meta.model import WORSE
from traces import LogError
from tuner.bench.cells import pool_of, truth_in_order
from tuner.bench.history import History, load
from tuner.bench.metrics import Judged
from tuner.bench.sampled import sample
from tuner.measure import Memory
from tuner.problem import Problem
from tuner.runs import RunSpec, Shared, execute, run_name
from tuner.workloads import resolve

ARMS = ("none", "two-stage", "meta")


@dataclass(frozen=True)
class FirstGood:
    """Median over seeds, by arm: virtual seconds and measurements until the first good schedule;
    a run that finds none counts whole, and ``found`` is the share that finds one.
    """

    task: str
    virtual_s: dict[str, float]
    trials: dict[str, float]
    found: dict[str, float]


def first_good(
    workload: str, chip: str, model: Path, seeds: Sequence[int], trials: int, out: Path
) -> FirstGood:
    """Run every arm with every seed; the logs go to ``out``, and those that are there are taken."""
    problem = Problem.of(resolve(workload), load_chip(chip))
    shared, runs = Shared(Memory()), [(arm, seed) for arm in ARMS for seed in seeds]
    histories = {}
    for arm, seed in runs:
        spec = RunSpec(arm, "evolutionary", seed, trials, meta=str(model))
        log = out / "runs" / f"{run_name(problem, spec)}.jsonl"
        histories[arm, seed] = _finished(log, trials) or _run(problem, spec, log, shared)
    pools = {key: pool_of(problem, history) for key, history in histories.items()}
    target = WORSE * sample(problem, list(pools.values()), 0).optimum_us
    reached = {
        key: Judged(h, truth_in_order(problem, h, pools[key])).reaches(target)
        for key, h in histories.items()
    }
    by_arm = {arm: [reached[arm, seed] for seed in seeds] for arm in ARMS}
    return FirstGood(
        task=f"{workload} @ {chip}",
        virtual_s={arm: median(s for s, _, _ in rows) for arm, rows in by_arm.items()},
        trials={arm: median(n for _, n, _ in rows) for arm, rows in by_arm.items()},
        found={arm: sum(ok for *_, ok in rows) / len(rows) for arm, rows in by_arm.items()},
    )


def _finished(log: Path, trials: int) -> History | None:
    """A run that is there already; None where it is missing, unfinished or of another length."""
    with suppress(LogError, FileNotFoundError):
        found = load(log)
        return found if found.header.trials == trials else None
    return None


def _run(problem: Problem, spec: RunSpec, log: Path, shared: Shared) -> History:
    execute(problem, spec, log, resume=False, shared=shared)
    return load(log)
