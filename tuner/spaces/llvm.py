"""Design space of a CPU: TVM's own LLVM rules for as many cores as the chip has.

Parallel and vectorised loops are not decided by the sketch but by a postprocessor, from limits that
the rules leave as annotations of the program; :mod:`tuner.summary.cpu` reads them the same way.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tvm import IRModule
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms
from tvm.target import Target, codegen

from hwsim.cpu.chip import CpuChip
from tuner.spaces.fast_script import load_tvm_intrinsics

HOST = "host"  # a chip file's name for the processor that this program runs on


def target(chip: CpuChip) -> Target:
    """``llvm`` target with the chip's cores, for its processor where the file names one."""
    found = {"kind": "llvm", "num-cores": chip.cores}
    if chip.mcpu:
        found["mcpu"] = codegen.llvm_get_system_cpu() if chip.mcpu == HOST else chip.mcpu
    return Target(found)


def space_generator(dtype: str, chip: CpuChip) -> Any:
    """``PostOrderApply`` with TVM's rules, postprocs and mutators; the same for every ``dtype``."""
    return ms.space_generator.PostOrderApply(
        sch_rules="llvm", postprocs="llvm", mutator_probs="llvm"
    )


def sketches(sch: Schedule, dtype: str, chip: CpuChip) -> list[Schedule]:
    """The sketches that TVM's rules make of the program."""
    load_tvm_intrinsics()  # the context would, ten times slower
    context = ms.TuneContext(
        sch.mod,
        target=target(chip),
        space_generator=space_generator(dtype, chip),
        rand_state=1,
        num_threads=1,
    )
    return list(context.generate_design_space())


def postprocs(chip: CpuChip) -> list[Any]:
    """TVM's LLVM postprocs in TVM's order, initialised for the chip."""
    return list(_context(target(chip)).space_generator.postprocs)


@cache
def _context(of: Target) -> Any:
    load_tvm_intrinsics()
    space = ms.space_generator.PostOrderApply(sch_rules=[], postprocs="llvm", mutator_probs={})
    return ms.TuneContext(IRModule(), target=of, space_generator=space, num_threads=1)
