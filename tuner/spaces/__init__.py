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
from tuner.workloads import Workload

_MODULES = {"gpu_sm": "gpu", "ascend_cube": "ascend", "mlu_sram": "mlu"}


class SpaceError(ValueError):
    """A workload that a chip has no design space for; the message is one line for the user."""


def _backend(chip: Chip) -> ModuleType:
    return import_module(f"tuner.spaces.{_MODULES[chip.backend]}")


def target(chip: Chip) -> Any:
    """The TVM target that stands for ``chip``."""
    return _backend(chip).target(chip)


def design_space(workload: Workload, chip: Chip) -> list[Any]:
    """The sketches of ``workload`` on ``chip``, a list of ``tvm.s_tir.Schedule``.

    Raises
    ------
    SpaceError
        The chip cannot run the workload at all; the message says why.
    """
    sketches: list[Any] = _backend(chip).design_space(workload, chip)
    return sketches


def postprocs(chip: Chip) -> list[Any]:
    """What to apply, in order, to a replayed schedule; the first that answers False rejects it."""
    found: list[Any] = _backend(chip).postprocs(chip)
    return found


def space_generator(workload: Workload, chip: Chip) -> Any:
    """The same space for TVM's own search, with its rules, postprocs and mutators."""
    return _backend(chip).space_generator(workload, chip)
