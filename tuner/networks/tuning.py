"""Tuning a network: one run a task, each with a log of its own, under one budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tvm.s_tir import Schedule

from hwsim.chip import Chip
from traces import LogWriter, Measurement
from tuner.bench.plan import Plan
from tuner.bench.specs import spec_of
from tuner.loop import BUDGET, Loop
from tuner.networks.network import Network, NetworkError, Task, Untuned
from tuner.networks.scheduler import schedule
from tuner.problem import Problem
from tuner.runs import RunSpec, checked_rules, header, run_name, search
from tuner.spaces import SpaceError
from tuner.tvm_arm import TvmSearch

SPENT = "budget of the network"
ROUNDS = 4  # of an even share of the budget; a task learns only from one round to the next


class NetworkPlan(Plan, frozen=True, kw_only=True):
    """All that decides a network's results; ``trials`` are those of all tasks together."""

    network: str


@dataclass(frozen=True)
class Prepared:
    """A task that can be tuned on the chip."""

    task: Task
    problem: Problem


@dataclass(frozen=True)
class TaskRun:
    """A task's search."""

    prepared: Prepared
    loop: Loop
    log: Path

    def turn(self, left: int) -> list[Measurement]:
        """Rounds until something is measured, at most ``left`` candidates; empty once the search
        is over.
        """
        budget = self.loop.budget
        self.loop.budget = replace(budget, trials=self.loop.tally.measured + left)
        more = True
        while more:
            more = self.loop.step()
            if self.loop.measured:
                break
        return self.loop.measured


def round_size(trials: int, tasks: int) -> int:
    """Most measurements of a round, so that every task can have ``ROUNDS`` of them."""
    return max(1, trials // (ROUNDS * tasks))


def prepare(
    network: Network, chip: Chip, prepared: Callable[[int], None] = lambda done: None
) -> tuple[list[Prepared], list[Untuned]]:
    """The tasks' design spaces; what the chip has none for comes back as untuned, with the reason.

    Raises
    ------
    NetworkError
        The chip can run none of the tasks.
    """
    ready, untuned = [], list(network.untuned)
    for done, task in enumerate(network.tasks, start=1):
        try:
            problem = Problem.of(task.workload, chip)
            problem.check_readable()
            ready.append(Prepared(task, problem))
        except SpaceError as reason:
            untuned.append(Untuned(task.workload.name, task.weight, str(reason)))
        prepared(done)
    if not ready:
        raise NetworkError(f"network {network.name!r}: {untuned[-1].reason}")
    return ready, untuned


def tune_network(
    tasks: list[Prepared],
    plan: NetworkPlan,
    out: Path,
    *,
    resume: bool = False,
    progress: Callable[[list[TaskRun]], None] = lambda runs: None,
    stopped: Callable[[], bool] = lambda: False,
) -> list[TaskRun]:
    """Tune the tasks together and write their logs into ``out/runs``.

    Raises
    ------
    LogError, RuleError, ArmError
        As :func:`tuner.runs.execute`; or the arm is TVM's own search, which takes no turns.
    """
    spec = spec_of(plan, plan.strategies[0], plan.arms[0], plan.seed)
    spec = replace(spec, network=plan.network)
    with _opened(tasks, spec, out, resume, stopped) as runs:

        def turn(run: TaskRun) -> list[Measurement]:
            measured = run.turn(plan.trials - sum(r.loop.tally.measured for r in runs))
            progress(runs)
            return measured

        schedule(
            [Schedule(p.task.workload.prim_func()).mod for p in tasks],
            [p.task.weight for p in tasks],
            [partial(turn, run) for run in runs],
            plan.trials,
            plan.seed,
        )
        if not stopped():
            for run in runs:
                spent = run.loop.tally.measured == run.loop.budget.trials
                run.loop.end(BUDGET if spent else SPENT)
        return runs


@contextmanager
def _opened(
    tasks: list[Prepared], spec: RunSpec, out: Path, resume: bool, stopped: Callable[[], bool]
) -> Iterator[list[TaskRun]]:
    rules, runs = checked_rules(spec), list[TaskRun]()
    with ExitStack() as logs:
        for prepared in tasks:
            problem = prepared.problem
            path = out / "runs" / f"{run_name(problem, spec)}.jsonl"
            log = logs.enter_context(LogWriter(path, header(problem, spec, rules), resume=resume))
            loop = search(problem, spec, rules, log, stopped=stopped)
            if isinstance(loop, TvmSearch):
                raise NetworkError(f"arm {spec.arm}: searches one workload, not a network")
            runs.append(TaskRun(prepared, loop, path))
        yield runs
