"""What a network costs before it is tuned: the default schedule of a task.

Nothing is searched.  As AutoTVM's fallback configurations do, every axis gets a fixed tile:
``SIDE`` elements along each axis for one core, ``THREADS`` (``WARPS`` on tensor cores) of a GPU's
block or the cores of an MLU's cluster working on them, one step everywhere else; all cores, one
version of each buffer, no unrolling, the widest vectors.  Where that does not run, the side is
halved.  Each sketch has one such schedule, and the fastest of these few is the default.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from hwsim.chip import Chip
from pruner.task import Decision as TaskDecision
from traces import Measurement
from tuner.decisions import IntColumn
from tuner.describe import describe
from tuner.measure import Job, SimBackend
from tuner.problem import Handle, Problem
from tuner.sketch import Sketch

SIDE = 64  # elements of a tile along each axis
THREADS, WARPS, CLUSTER = 16, 2, 4  # along each axis that has threads, by what a thread is
SPLIT = 256  # threads of a block where nothing but their number is decided


@dataclass(frozen=True)
class Default:
    """The default schedule of a task: the tile's ``side``, and what it measures."""

    sketch: int
    decisions: IntColumn
    side: int
    latency_us: float


def default_schedule(problem: Problem, repeats: int, seed: int) -> Default | None:
    """The fastest of the sketches' defaults; None where none of them runs."""
    backend = SimBackend(problem.workload, problem.chip, repeats=repeats, seed=seed)
    found = [_of_sketch(problem, backend, sketch) for sketch in problem.sketches]
    return min(filter(None, found), key=lambda d: d.latency_us, default=None)


def _of_sketch(problem: Problem, backend: SimBackend, sketch: Sketch) -> Default | None:
    """The default with the largest side that TVM and the chip take."""
    decisions = describe(sketch).decisions
    for side in (SIDE >> shift for shift in range(SIDE.bit_length())):
        row = _row(sketch, decisions, side)
        measured = _measure(problem, backend, sketch, row)
        if measured is not None and measured.failure is None:
            return Default(sketch.index, row, side, measured.mean_us)
    return None


def _measure(
    problem: Problem, backend: SimBackend, sketch: Sketch, row: IntColumn
) -> Measurement | None:
    handle = Handle(lambda: problem.lower(sketch.index, row))
    if handle.lowered().rejection is not None:
        return None
    return backend.measure([Job(sketch.hash(row), handle)])[0]


def _row(sketch: Sketch, decisions: tuple[TaskDecision, ...], side: int) -> IntColumn:
    row = np.empty((1, sketch.width), dtype=np.int64)
    for own, described in zip(sketch.decisions, decisions, strict=True):
        wanted = [_value(described)]
        if described.meaning == "tile":
            wanted = _tile(described, side, sketch.chip)
        row[0, own.start : own.stop] = wanted
    return np.asarray(sketch.repair(row)[0])


def _tile(decision: TaskDecision, side: int, chip: Chip) -> list[int]:
    """Factors, outermost first; the sketch makes the outermost one whatever is left."""
    steps = max(1, side // decision.unit)
    threads = _threads(decision, chip)
    parts = [min(threads, steps) if role == "thread" else 1 for role in decision.roles]
    serial = [i for i, role in enumerate(decision.roles) if role == "serial" and i > 0]
    if serial:
        parts[serial[-1]] = max(1, steps // prod(parts))
    return parts


def _threads(decision: TaskDecision, chip: Chip) -> int:
    if chip.backend == "mlu_sram":
        return CLUSTER
    return THREADS if decision.unit == 1 else WARPS


def _value(decision: TaskDecision) -> int:
    """Index of a categorical's default among its values."""
    values = decision.values[:, 0]
    if decision.meaning in ("vector_lanes", "cores"):
        return int(np.argmax(values))
    if decision.meaning == "threads":
        return int(np.argmin(abs(values - SPLIT)))
    return 0
