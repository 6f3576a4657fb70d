"""The functions of a module as tuning tasks, each with its screen and its pruned design space."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvm.ir import IRModule
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule.tune_context import _normalize_mod
from tvm.s_tir.meta_schedule.utils import fork_seed
from tvm.tirx import PrimFunc

from hwsim.chip import Chip
from pruner.gate import Gate
from pruner.rulesets import Rules
from pruner.task_stage import TaskStage
from pruner.trial import TrialStage
from tuner import spaces
from tuner.describe import describe
from tuner.dropin.callback import Voice
from tuner.dropin.error import TuneError
from tuner.dropin.postproc import Contained, PruneMutator, PrunePostproc
from tuner.dropin.screen import Screen
from tuner.dropin.shrink import shrink
from tuner.dropin.strategy import Watched
from tuner.dropin.verdicts import VerdictLog
from tuner.native.stage import native_stage
from tuner.problem import one_line
from tuner.sketch import Sketch
from tuner.spaces.fast_script import load_tvm_intrinsics
from tuner.workloads import Workload
from tuner.workloads.source import workload_of

DEFAULT_SPACE = "post-order-apply"


@dataclass(frozen=True)
class Setting:
    """What the tasks of one call of ``tune_tir`` have in common."""

    target: Any
    chip: Chip | None
    rules: Rules | None
    seed: int
    log: VerdictLog
    folder: Path
    num_threads: int | str


@dataclass(frozen=True)
class Function:
    """One ``PrimFunc`` of the user's module: TVM's own, and as a workload."""

    name: str
    mod: Any
    workload: Workload


def functions_of(mod: Any) -> list[Function]:
    """Every ``PrimFunc`` in ``mod``, by name.

    Raises
    ------
    TuneError, tuner.workloads.WorkloadError
        There is none; or one that no design space can schedule.
    """
    if isinstance(mod, PrimFunc):
        mod = _normalize_mod(mod)
    if not isinstance(mod, IRModule):
        raise TuneError(f"mod is a {type(mod).__name__}, expected an IRModule or a PrimFunc")
    named = [(v.name_hint, f) for v, f in mod.functions_items() if isinstance(f, PrimFunc)]
    if not named:
        raise TuneError("mod holds no PrimFunc, expected at least one")
    named.sort(key=lambda pair: pair[0])
    return [Function(name, _normalize_mod(f), workload_of(name, f)) for name, f in named]


def make_tasks(
    mod: Any, space_of: Callable[[str], Any], strategy: Any, setting: Setting, seed: int | None
) -> list[tuple[Any, Screen]]:
    """Context and screen of every function of ``mod``, by name; without those of space None.

    Raises
    ------
    TuneError, tuner.workloads.WorkloadError
        Nothing is left to tune; as :func:`functions_of` and :func:`make_task`.
    """
    functions = functions_of(mod)
    load_tvm_intrinsics()  # a TuneContext would, ten times slower
    made = []
    for function, state in zip(functions, fork_seed(seed, n=len(functions)), strict=True):
        space = space_of(function.name)
        if space is not None:
            made.append(make_task(function, space, strategy, setting, state))
    if not made:
        raise TuneError("nothing to tune: special_space is None for every function")
    return made


def make_task(
    function: Function, space: Any, strategy: Any, setting: Setting, state: int
) -> tuple[Any, Screen]:
    """The tune context of one function, and the screen in its postprocessors.

    Raises
    ------
    TuneError
        TVM makes no design space of it.
    """
    name, workload = function.name, function.workload
    source = _source(workload, space, setting)
    context = _context(function, source, None, setting, state)
    designs = _designs(context, name)
    voice = Voice(lambda text: setting.log.note(name, text))
    screen = Screen(name, workload, _backend(setting), _trial_stage(setting), setting.log, voice)
    if setting.chip is not None and (setting.rules is not None or voice.present):
        designs = _pruned(designs, function, screen, setting)
    generator = context.space_generator
    pruned = ms.space_generator.ScheduleFn(
        lambda _: designs,
        sch_rules=[],
        postprocs=[
            PrunePostproc(screen),
            *(Contained(p, screen) for p in generator.postprocs or ()),
        ],
        mutator_probs={
            PruneMutator(m, screen): float(p) for m, p in (generator.mutator_probs or {}).items()
        },
    )
    watched = Watched(_strategy(strategy), screen)
    return _context(function, pruned, watched, setting, state), screen


def _backend(setting: Setting) -> str:
    return setting.chip.backend if setting.chip is not None else ""


def _source(workload: Workload, space: Any, setting: Setting) -> Any:
    """TVM has no rules for the accelerators: their default space is prunelab's."""
    if space == DEFAULT_SPACE and setting.target.kind.name == "ext_dev":
        if setting.chip is None:
            raise TuneError(f"target {setting.target}: TVM has no design space for it; give space=")
        return spaces.space_generator(workload, setting.chip)
    if isinstance(space, ms.space_generator.SpaceGenerator):
        return space.clone()
    return ms.space_generator.SpaceGenerator.create(space)


def _strategy(strategy: Any) -> Any:
    if isinstance(strategy, ms.search_strategy.SearchStrategy):
        return strategy.clone()
    return ms.search_strategy.SearchStrategy.create(strategy)


def _context(function: Function, space: Any, strategy: Any, setting: Setting, state: int) -> Any:
    return ms.TuneContext(
        function.mod,
        target=setting.target,
        space_generator=space,
        search_strategy=strategy,
        task_name=function.name,
        rand_state=state,
        num_threads=setting.num_threads,
        logger=_logger(function.name, setting.folder / "logs"),
    )


def _designs(context: Any, name: str) -> list[Any]:
    try:
        designs = list(context.generate_design_space())
    except Exception as error:  # a rule of TVM's that raises ends the whole process' tuning
        raise TuneError(f"{name}: TVM's design space: {one_line(error)}") from None
    if not designs:
        raise TuneError(f"{name}: TVM's schedule rules leave no design space")
    return designs


def _trial_stage(setting: Setting) -> TrialStage | None:
    if setting.chip is None or setting.rules is None:
        return None
    gate = Gate(setting.rules.gate, seed=setting.seed)
    return TrialStage(
        setting.rules.trial,
        gate,
        setting.chip,
        seed=setting.seed,
        rule_set=setting.rules.name,
        engine=native_stage(setting.chip),
    )


def _pruned(designs: list[Any], function: Function, screen: Screen, setting: Setting) -> list[Any]:
    """The designs after the task stage; without it where a design cannot be described."""
    chip, rules = setting.chip, setting.rules
    assert chip is not None
    stage = TaskStage(rules.task if rules else (), chip, rules.name if rules else "none")
    try:
        sketches = [
            Sketch.from_schedule(_simplified(design, function.mod), function.workload, chip, i)
            for i, design in enumerate(designs)
        ]
        results = [stage.run(describe(sketch)) for sketch in sketches]
        screen.shrunk, made = shrink(sketches, results, screen.task, screen.log, screen.voice)
    except Exception as error:
        screen.log.note(screen.task, f"no task stage: {type(error).__name__}: {one_line(error)}")
        return designs
    return made


def _simplified(design: Any, mod: Any) -> Any:
    """The design without dead instructions.

    ``mod`` has to be somebody else's as well: where a schedule alone holds a module, TVM changes
    the function in place that the module was made of.
    """
    fresh = Schedule(mod)
    design.trace.simplified(True).apply_to_schedule(fresh, remove_postproc=True)
    return fresh


def _logger(name: str, folder: Path) -> logging.Logger:
    """A logger of its own: TVM's would reconfigure the whole process' logging."""
    folder.mkdir(parents=True, exist_ok=True)
    logger = logging.Logger(f"prunelab.{name}", logging.DEBUG)
    handler = logging.FileHandler(folder / f"{name[:100]}.log", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s [%(levelname)s] %(message)s"))
    logger.addHandler(handler)
    return logger
