"""Kernel tables of given schedules: a candidate of a log, or a MetaSchedule trace in a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tvm.s_tir import Schedule, Trace

from hwsim.chip import Chip
from hwsim.chips import load_chip
from hwsim.table import KernelTable
from traces import LogError
from tuner import spaces, tir
from tuner.logged import logged
from tuner.problem import Problem
from tuner.workloads import Workload, resolve
from tuner.written import WrittenError, read_candidate


@dataclass(frozen=True)
class Scheduled:
    """The kernels of one schedule on its chip; ``decisions`` by name where they are known."""

    title: str
    chip: Chip
    table: KernelTable
    decisions: dict[str, int]


def of_run(log: Path, candidate: str | None, chip_file: str | None) -> Scheduled:
    """A candidate of a log, by default the best; the table is the one that was measured.

    Raises
    ------
    LogError
        As :func:`tuner.logged.logged`, or a candidate that TVM refuses.
    """
    found = logged(log, candidate, chip_file)
    row = np.array(found.trial.decisions, dtype=np.int64)
    lowered = found.problem.lower(found.trial.sketch, row)
    if lowered.schedule is None:
        raise LogError(
            f"{log}: TVM refuses candidate {found.trial.candidate} ({lowered.rejected_by}),"
            " so that it has no kernel"
        )
    problem = found.problem
    title = f"{problem.workload.name}, candidate {found.trial.candidate}"
    table = _table(log, lowered.schedule, problem.workload, problem.chip)
    return Scheduled(title, problem.chip, table, found.decisions)


def of_decisions(problem: Problem, text: str) -> Scheduled:
    """A candidate of a problem's design space by its decisions, ``SKETCH:NAME=VALUE,...``.

    Raises
    ------
    WrittenError
        The text is no candidate of the space, or TVM refuses it.
    """
    sketch, row = read_candidate(problem.sketches, text)
    lowered = problem.lower(sketch, row)
    if lowered.rejection is not None:
        raise WrittenError(f"TVM refuses the candidate: {lowered.rejection.reason}")
    of = problem.sketches[sketch]
    table = _table(Path(text), lowered.schedule, problem.workload, problem.chip)
    decisions = dict(zip(of.names, map(int, row), strict=True))
    title = f"{problem.workload.name}, candidate {of.hash(row)}"
    return Scheduled(title, problem.chip, table, decisions)


def of_trace(path: Path, workload: str | None, chip: str | None) -> Scheduled:
    """A trace as ``Trace.as_json`` gives it, or a ``best.json`` with workload, chip and trace.

    Raises
    ------
    LogError
        No such file, no trace in it, a trace of another workload, no workload or chip, or a
        schedule that cannot be read.
    """
    trace, named = _trace(path)
    workload, chip = workload or named.get("workload"), chip or named.get("chip")
    if not workload or not chip:
        raise LogError(f"{path}: names no workload and chip; give them with --workload and --chip")
    program, on = resolve(workload), load_chip(chip)
    sch = _applied(path, trace, program, on)
    table = _table(path, sch, program, on)
    return Scheduled(f"{program.name}, trace {path.name}", on, table, {})


def _table(path: Path, sch: Any, workload: Workload, chip: Chip) -> KernelTable:
    try:
        return tir.kernels(sch, workload, chip.backend)
    except tir.Unsupported as error:
        raise LogError(f"{path}: a schedule that cannot be read: {error}") from None


def _trace(path: Path) -> tuple[Any, dict[str, str]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise LogError(f"{path}: not JSON: {error}") from None
    if isinstance(content, dict) and "trace" in content:
        return content["trace"], content
    if isinstance(content, list):
        return content, {}
    raise LogError(f"{path}: expected a trace [instructions, decisions] or a best.json")


def _applied(path: Path, trace: Any, workload: Workload, chip: Chip) -> Any:
    """The schedule after the trace; its postprocessing where the trace has none yet."""
    spaces.design_space(workload, chip)  # registers the chip's tensor intrinsics
    sch = Schedule(workload.prim_func())
    try:
        Trace.apply_json_to_schedule(trace, sch)
    except (RuntimeError, ValueError, TypeError, AttributeError, KeyError) as error:
        line = str(error).strip().splitlines()[-1]
        raise LogError(f"{path}: not a trace of {workload.name}: {line}") from None
    if any(instruction.kind.name == "EnterPostproc" for instruction in sch.trace.insts):
        return sch
    sch.enter_postproc()
    for postproc in spaces.postprocs(chip):
        if not postproc.apply(sch):
            raise LogError(f"{path}: TVM refuses the trace ({type(postproc).__name__})")
    return sch
