"""``tune_tir`` with TVM's signature, a pruner, and without TVM's traps."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tvm_ffi
from tvm.s_tir import meta_schedule as ms

from hwsim.chip import Chip
from pruner.rulesets import Rules, rule_set
from tuner.dropin.callbacks import default_callbacks
from tuner.dropin.cost_model import Honest
from tuner.dropin.database import check_target, open_database, valid
from tuner.dropin.error import TuneError, TuneWarning
from tuner.dropin.screen import Screen, before_postprocs
from tuner.dropin.targets import overprunes, resolve_target
from tuner.dropin.tasks import DEFAULT_SPACE, Setting, make_tasks
from tuner.dropin.verdicts import NAME, VerdictLog, failures
from tuner.measure import Backend, SimBackend
from tuner.problem import one_line
from tuner.tvm_arm import numpy_seeded, tvm_state
from tuner.tvm_measure import SimBuilder, SimRunner

REPEATS = 3  # measurements of each candidate on a simulated chip


def tune_tir(
    mod: Any,
    target: Any,
    work_dir: str | Path,
    max_trials_global: int,
    *,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Any = None,
    runner: Any = None,
    database: Any = "json",
    cost_model: Any = "xgb",
    measure_callbacks: Any = "default",
    task_scheduler: Any = "gradient",
    space: Any = DEFAULT_SPACE,
    strategy: Any = "evolutionary",
    num_tuning_cores: Any = "physical",
    seed: int | None = None,
    module_equality: str = "structural",
    special_space: Mapping[str, Any] | None = None,
    post_optimization: bool | None = False,
    pruner: str | Rules | None = "default",
    chip: Chip | str | None = None,
) -> Any:
    """Tune as ``tvm.s_tir.meta_schedule.tune_tir`` does, with a pruner in TVM's own search.

    All arguments but the last two are TVM's.  What differs:

    - ``target`` may be the name of a chip (``prunelab chips``) or a chip file as well.
    - ``builder`` and ``runner`` default to the chip's simulator; without a chip, or for
      ``local-cpu``, to the local machine.  Give ``builder="local", runner="local"`` (or an
      ``RPCRunner``) to measure on the real thing, pruned by the chip's rules.
    - Only what ran gets into the database, and what is there already is not measured again.
    - ``pruner``: name of a rule set (``prunelab rules``), :class:`pruner.rulesets.Rules`, or None.
    - ``chip``: name, file or :class:`hwsim.chip.Chip`, where the target does not say which it is.

    ``work_dir/prunelab.jsonl`` gets a line for every value and candidate that was pruned, with
    rule, reason and evidence, and for every failure.

    Returns
    -------
    tvm.s_tir.meta_schedule.database.Database
        The database with all records that ran.

    Raises
    ------
    TuneError
        A target without a chip although there is a pruner; a damaged database, or one of another
        target; a function without a design space; nothing that ran.  One line each.
    tuner.workloads.WorkloadError, hwsim.chip.ChipError, pruner.rule.RuleError
        A function, a chip file or a rule set that is refused.
    """
    found_target, found_chip = resolve_target(target, chip)
    rules = _rules(pruner, found_target, found_chip)
    folder = _folder(work_dir)
    made_database, notes = open_database(database, folder, module_equality)
    state = seed if seed is not None else 1
    measurers = _measurers(builder, runner, found_chip, state)
    with VerdictLog(folder / NAME) as log:
        for note in filter(None, (*notes, overprunes(found_target, found_chip))):
            log.note("tune_tir", note)
        setting = Setting(found_target, found_chip, rules, state, log, folder, num_tuning_cores)
        special = special_space or {}
        tasks = make_tasks(mod, lambda name: special.get(name, space), strategy, setting, seed)
        contexts = [context for context, _ in tasks]
        check_target(made_database, [context.mod for context in contexts], found_target)
        _recall(made_database, tasks)
        _tune(
            state,
            tasks=contexts,
            task_weights=[1.0] * len(contexts),
            work_dir=str(folder),
            max_trials_global=max_trials_global,
            max_trials_per_task=max_trials_per_task,
            num_trials_per_iter=num_trials_per_iter,
            builder=measurers[0],
            runner=measurers[1],
            database=made_database,
            cost_model=_cost_model(cost_model, contexts[0].num_threads, state),
            measure_callbacks=_callbacks(measure_callbacks),
            task_scheduler=_scheduler(task_scheduler, state),
            module_equality=module_equality,
            post_optimization=post_optimization,
        )
    _check_found(made_database, tasks)
    return made_database


def _tune(seed: int, **given: Any) -> None:
    try:
        with numpy_seeded(seed):
            ms.tune.tune_tasks(**given)
    except RuntimeError as error:  # TVM's errors alike
        raise TuneError(f"TVM stopped tuning: {one_line(error)}") from error


def _rules(pruner: str | Rules | None, target: Any, chip: Chip | None) -> Rules | None:
    if pruner is None:
        return None
    if chip is None:
        raise TuneError(
            f"target {target}: which chip is that? The pruner needs one: give chip= (prunelab chips"
            " lists them), or pruner=None"
        )
    return rule_set(pruner) if isinstance(pruner, str) else pruner


def _folder(work_dir: str | Path) -> Path:
    folder = Path(work_dir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TuneError(f"work_dir {folder}: {error.strerror}") from None
    return folder


def _measurers(builder: Any, runner: Any, chip: Chip | None, seed: int) -> tuple[Any, Any]:
    """Builder and runner; where neither is given the chip's simulator, or this machine."""
    if chip is None or builder is not None or runner is not None:
        return builder or "local", runner or "local"
    measuring = SimBuilder(_backend(chip, seed))
    return measuring, SimRunner(measuring)


def _backend(chip: Chip, seed: int) -> Backend:
    if chip.backend != "cpu":
        return SimBackend(None, chip, repeats=REPEATS, seed=seed)
    from tuner.hardware.backend import RealBackend  # sockets and process pools

    return RealBackend("local", chip, REPEATS, keep=lambda *_: None)


def _cost_model(given: Any, cores: int, seed: int) -> Any:
    if given == "xgb" and find_spec("xgboost") is None:
        raise TuneError(
            "cost_model 'xgb' needs the extra tvm-search: pip install 'prunelab[tvm-search]',"
            " or cost_model='random'"
        )
    if given == "random":
        return ms.cost_model.RandomModel(seed=seed)  # without a seed it takes the machine's entropy
    if not isinstance(given, ms.cost_model.CostModel):
        given = ms.cost_model.CostModel.create(given, num_tuning_cores=cores, tree_method="auto")
    return Honest(given)


def _scheduler(given: Any, seed: int) -> Any:
    if given != "gradient":
        return given
    return ms.task_scheduler.GradientBased(seed=tvm_state(seed))


def _callbacks(given: Any) -> list[Any]:
    if isinstance(given, str):
        return default_callbacks()
    return [given] if isinstance(given, ms.measure_callback.MeasureCallback) else list(given)


def _recall(database: Any, tasks: Sequence[tuple[Any, Screen]]) -> None:
    """Tell every screen what the database and the log of failures hold of its function."""
    records = database.get_all_tuning_records()
    for context, screen in tasks:
        screen.measured |= failures(screen.log.path, screen.task)
        for record in records:
            if tvm_ffi.structural_equal(record.workload.mod, context.mod):
                screen.measured.add(before_postprocs(context.mod, record.trace)[0])


def _check_found(database: Any, tasks: Sequence[tuple[Any, Screen]]) -> None:
    """Say which functions have no record that ran; an error where none of them has.

    TVM itself ends without a word.
    """
    empty = []
    for context, screen in tasks:
        workload = database.commit_workload(context.mod)
        if not any(valid(record) for record in database.get_top_k(workload, 1)):
            empty.append(f"{screen.task}: nothing ran: {screen.summary()}")
    if len(empty) == len(tasks):
        raise TuneError("; ".join(empty))
    for line in empty:
        warnings.warn(line, TuneWarning, stacklevel=3)
