"""Design spaces: what may be decided when a workload is scheduled for a chip.

A sketch is a :class:`tvm.s_tir.Schedule` whose trace is unfrozen: give its sampling instructions
other decisions and replay it with ``Trace(insts, decisions).apply_to_schedule``.  Importing this
package does not import TVM; calling its functions does.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from hwsim.chip import Chip
from tuner.workloads import GENERATED, Workload

_MODULES = {"gpu_sm": "gpu", "ascend_cube": "ascend", "mlu_sram": "mlu", "cpu": "llvm"}
_TVM_RULES = ("gpu_sm", "cpu")  # backends whose spaces are made by TVM's own rules


class SpaceError(ValueError):
    """A workload that a chip has no design space for; the message is one line for the user."""


def _backend(chip: Chip) -> ModuleType:
    return import_module(f"tuner.spaces.{_MODULES[chip.backend]}")


def target(chip: Chip) -> Any:
    """The TVM target that stands for ``chip``."""
    return _backend(chip).target(chip)


def design_space(workload: Workload, chip: Chip) -> list[Any]:
    """The sketches of ``workload`` on ``chip``, a list of ``tvm.s_tir.Schedule``.

    Their traces hold no dead instruction, so that no two decision vectors differ in nothing but a
    decision that TVM's rules sampled and then did not use.

    Raises
    ------
    SpaceError
        The program has a form that no sketch of the chip covers; one line says which.
    """
    from tvm import IRModule
    from tvm.s_tir import Schedule

    sch = Schedule(IRModule({"main": workload.prim_func()}))
    try:
        sketches = _sketches(sch, workload, chip)
        return [_without_dead_instructions(sch.copy(), sketch) for sketch in sketches]
    except RuntimeError as error:  # TVM's ScheduleError and InternalError alike
        reason = str(error).strip().splitlines()[-1].removeprefix("Error message: ")
        raise SpaceError(f"workload {workload.name!r} on {chip.name}: {reason}") from None


def _sketches(sch: Any, workload: Workload, chip: Chip) -> list[Any]:
    """The generated sketches of the program in ``sch``, or the template made of the first one."""
    generated: list[Any] = _backend(chip).sketches(sch.copy(), workload.dtype, chip)
    if workload.space == GENERATED:
        return generated
    from tuner.spaces.template import template

    made = template(sch.copy(), generated[0], chip)
    if made is None:
        raise SpaceError(f"workload {workload.name!r}: a template covers products, this is none")
    return [made]


def _without_dead_instructions(fresh: Any, sketch: Any) -> Any:
    sketch.trace.simplified(True).apply_to_schedule(fresh, remove_postproc=True)
    return fresh


def postprocs(chip: Chip) -> list[Any]:
    """What to apply, in order, to a replayed schedule; the first that answers False rejects it.

    Call ``schedule.enter_postproc()`` first, so that its trace tells decisions from what follows.
    The accelerators have none: their sketches tensorize by themselves, and what exceeds a buffer
    is for the simulator to say.
    """
    return list(_backend(chip).postprocs(chip)) if chip.backend in _TVM_RULES else []


def space_generator(workload: Workload, chip: Chip) -> Any:
    """The same space for TVM's own search, with its rules, postprocs and mutators."""
    from tuner.spaces.fast_script import load_tvm_intrinsics

    load_tvm_intrinsics()  # the search's TuneContext would, ten times slower
    backend = _backend(chip)
    if chip.backend in _TVM_RULES and workload.space == GENERATED:
        return backend.space_generator(workload.dtype, chip)
    from tvm.s_tir.meta_schedule.space_generator import ScheduleFn

    from tuner.spaces.mutate import mutator_probs

    return ScheduleFn(
        lambda sch: _sketches(sch, workload, chip),
        sch_rules=[],
        postprocs="cuda-tensorcore" if chip.backend == "gpu_sm" else [],
        mutator_probs=mutator_probs(),
    )
