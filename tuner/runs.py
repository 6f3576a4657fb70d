"""One run from its description: everything that decides its outcome is in :class:`RunSpec`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.chips import chip_hash
from pruner.gate import Gate
from pruner.meta.model import load, shipped
from pruner.meta.prior import GraphPrior
from pruner.prior import Prior
from pruner.rulesets import Rules, rule_set
from pruner.task import Decision, TaskRule
from pruner.task_result import TaskResult
from pruner.task_stage import TaskStage
from pruner.trial import TrialStage
from traces import Header, LogWriter, TaskPrune, TaskSummary
from tuner.arms import ARMS, Arm, check_installed
from tuner.bench.plan import file_name
from tuner.defaults import defaults_in
from tuner.feedback import NONE, Whitelisted, stored
from tuner.hardware import SIM
from tuner.hardware.kept import Keeper, beside
from tuner.journal import Journal, Progress, Tally, broken
from tuner.loop import Budget, Loop
from tuner.measure import Backend, Memory, SimBackend
from tuner.models import DEFAULT_MODEL, MODELS
from tuner.native.stage import native_stage
from tuner.problem import Problem
from tuner.search import (
    SCREENED,
    SCREENED_BY_REPLAY,
    STRATEGIES,
    Beginning,
    SketchSpace,
    Strategy,
)
from tuner.survivors import remarked, soft_rules_took, some_work
from tuner.tvm_arm import TvmSearch
from tuner.written import value_name


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides a run, besides the problem itself."""

    arm: str
    strategy: str
    seed: int
    trials: int
    repeats: int = 3
    batch: int = 32
    rules: str = "default"
    rule_files: tuple[str, ...] = ()
    cost_model: str = DEFAULT_MODEL
    backend: str = SIM
    store: str = ""  # snapshot of the store in the folder; empty: none
    store_folder: str = ""
    meta: str = ""  # file of the prior's model; "": the one that ships
    network: str = ""  # whose task it is: it begins with the default schedules


@dataclass
class Shared:
    """What the runs of one problem may share, because it is deterministic: simulated outcomes."""

    outcomes: Memory


def run_name(problem: Problem, spec: RunSpec) -> str:
    """File name of a run's log without its suffix, unique in a folder."""
    workload = file_name(problem.label)
    model = "" if spec.cost_model == DEFAULT_MODEL else f"__{spec.cost_model}"
    return f"{problem.chip.name}__{workload}__{spec.arm}__{spec.strategy}{model}__seed{spec.seed}"


def rules_hash(rules: Rules) -> str:
    """16 hex digits that stand for the printed rules, in order."""
    return hashlib.sha256("\n".join(rules.specs).encode()).hexdigest()[:16]


def header(problem: Problem, spec: RunSpec, rules: Rules) -> Header:
    """The log's first line."""
    return Header(
        version=version("prunelab"),
        run=run_name(problem, spec),
        chip=problem.chip.name,
        chip_hash=chip_hash(problem.chip),
        workload=problem.workload.name,
        workload_hash=problem.program_hash,
        space=problem.space,
        arm=spec.arm,
        rule_set=rules.name,
        rules_hash=rules_hash(rules),
        strategy=spec.strategy,
        cost_model=spec.cost_model,
        backend=spec.backend,
        seed=spec.seed,
        trials=spec.trials,
        repeats=spec.repeats,
        batch=spec.batch,
        store=spec.store,
        network=spec.network,
    )


def task_stage(problem: Problem, rules: Rules, listed: Whitelisted = NONE) -> list[TaskResult]:
    """What the task stage leaves of every sketch: the values of whitelisted schedules always, and
    something that exceeds no limit where there is such a thing.
    """
    results = _left_by(rules.task, problem, rules.name, listed)
    if soft_rules_took(results) and not some_work(problem, results, rules):
        limits = _left_by([r for r in rules.task if r.hard], problem, rules.name, listed)
        if some_work(problem, limits, rules):
            return remarked(limits)
    return results


def _left_by(
    rules: Sequence[TaskRule], problem: Problem, name: str, listed: Whitelisted
) -> list[TaskResult]:
    stage = TaskStage(rules, problem.chip, name)
    described = zip(problem.tasks, problem.sketches, strict=True)
    return [stage.run(task, listed.values(sketch)) for task, sketch in described]


class Reduced(Protocol):
    """What a task stage left of a sketch: a mask ``(v,)`` over the options of each decision."""

    @property
    def allowed(self) -> Mapping[str, NDArray[np.bool_]]:
        """The masks by decision."""
        ...


def search_spaces(problem: Problem, kept: Sequence[Reduced] | None) -> tuple[SketchSpace, ...]:
    """The options that a strategy samples from, one space a sketch."""
    if kept is None:
        return tuple(sketch.space for sketch in problem.sketches)
    return tuple(s.space.only(k.allowed) for s, k in zip(problem.sketches, kept, strict=True))


def strategy(problem: Problem, name: str, kept: Sequence[Reduced] | None, seed: int) -> Strategy:
    """A new strategy over what the task stage kept; None: over everything."""
    screened = SCREENED if problem.cheap else SCREENED_BY_REPLAY
    return STRATEGIES[name](search_spaces(problem, kept), seed, screened)


def _strategy(
    problem: Problem, spec: RunSpec, kept: Sequence[Reduced] | None, journal: Journal
) -> Strategy:
    """That of a run.  A network's task begins with its default schedules, so that what it is
    compared with is among what was measured.
    """
    chosen = strategy(problem, spec.strategy, kept, spec.seed)
    if not spec.network:
        return chosen
    first, pruned = defaults_in(problem, search_spaces(problem, kept))
    for sketch in pruned:
        journal.note(f"sketch {sketch}: the task stage pruned the default schedule")
    return Beginning(chosen, first)


def execute(
    problem: Problem,
    spec: RunSpec,
    path: Path,
    *,
    resume: bool = False,
    shared: Shared | None = None,
    progress: Progress | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Tally:
    """Run one run and write its log to ``path``.

    Raises
    ------
    LogError, RuleError, ArmError, HardwareError
        The log cannot be written or is another run's; a rule file is refused; the arm needs what
        is not installed; real hardware is not there, or has gone.
    """
    rules = checked_rules(spec)
    with LogWriter(path, header(problem, spec, rules), resume=resume) as log:
        tally = search(problem, spec, rules, log, shared, progress, stopped).run()
    if tally.reason:  # finished: the log has all that was measured
        beside(path).unlink(missing_ok=True)
    return tally


def checked_rules(spec: RunSpec) -> Rules:
    """The rules of a run, whose arm can run here; raises as :func:`execute`."""
    check_installed(ARMS[spec.arm])
    return rule_set(spec.rules, spec.rule_files)


def search(
    problem: Problem,
    spec: RunSpec,
    rules: Rules,
    log: LogWriter,
    shared: Shared | None = None,
    progress: Progress | None = None,
    stopped: Callable[[], bool] = lambda: False,
    board: Chip | None = None,
) -> Loop | TvmSearch:
    """A run that writes into ``log``, its task stage done, its search not begun.

    ``board``: the chip that is simulated, where the problem's, which pruner and cost model read, is
    not the true one.
    """
    arm = ARMS[spec.arm]
    journal = Journal(log, problem.chip.bench, progress)
    listed, prior = stored(problem, spec.store_folder, spec.store)
    kept = task_stage(problem, rules, listed) if arm.task else None
    _log_task_stage(journal, kept or [])
    if arm.gate and prior is not None:
        journal.note(f"gate: begins with {prior}")
    backend = _backend(problem, spec, rules, log, shared, board or problem.chip)
    budget = Budget(spec.trials, spec.batch)
    if arm.tvm:
        return TvmSearch(problem, backend, journal, budget, spec.seed, stopped)
    stage = _trial_stage(problem, arm, rules, spec, listed, prior)
    return Loop(
        problem=problem,
        strategy=_strategy(problem, spec, kept, journal),
        stage=stage,
        backend=backend,
        journal=journal,
        budget=budget,
        model=MODELS[spec.cost_model](problem.chip, spec.seed, stage is not None),
        stopped=stopped,
    )


def _backend(
    problem: Problem,
    spec: RunSpec,
    rules: Rules,
    log: LogWriter,
    shared: Shared | None,
    board: Chip,
) -> Backend:
    if spec.backend == SIM:
        memory = shared.outcomes if shared else None
        return SimBackend(
            problem.workload, board, repeats=spec.repeats, seed=spec.seed, memory=memory
        )
    from tuner.hardware.backend import RealBackend

    keeper = Keeper(log.path, header(problem, spec, rules))
    log.known.update(keeper.known)
    return RealBackend(spec.backend, problem.chip, spec.repeats, keeper.keep)


def _trial_stage(
    problem: Problem,
    arm: Arm,
    rules: Rules,
    spec: RunSpec,
    listed: Whitelisted,
    prior: Prior | None,
) -> TrialStage | None:
    if not (arm.rules or arm.gate):
        return None
    gate = Gate(rules.gate, seed=spec.seed, prior=prior) if arm.gate else None
    return TrialStage(
        rules.trial if arm.rules else (),
        gate,
        problem.chip,
        seed=spec.seed,
        rule_set=rules.name,
        whitelist=listed.hashes,
        graph_prior=_graph_prior(spec) if arm.graph_prior else None,
        engine=native_stage(problem.chip),
    )


def _graph_prior(spec: RunSpec) -> GraphPrior:
    return GraphPrior(load(Path(spec.meta)) if spec.meta else shipped())


def _log_task_stage(journal: Journal, kept: list[TaskResult]) -> None:
    for i, result in enumerate(kept):
        journal.log.write(
            TaskSummary(sketch=i, nodes_before=result.nodes_before, nodes_after=result.nodes_after)
        )
        for remark in result.remarks:
            journal.note(f"sketch {i}: {remark.text}")
        for rule, error in result.disabled.items():
            journal.note(broken(rule, error))
        for decision in result.task.decisions:
            _log_decision(journal.log, i, result, decision)


def _log_decision(log: LogWriter, sketch: int, result: TaskResult, decision: Decision) -> None:
    code = result.code[decision.name]
    for rule in np.unique(code[code >= 0]):
        gone = np.flatnonzero(code == rule)
        log.write(
            TaskPrune(
                sketch=sketch,
                decision=decision.name,
                values=[value_name(decision.values[v]) for v in gone],
                verdict=result.verdict(decision.name, int(gone[0])),
            )
        )
