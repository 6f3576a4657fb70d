"""The default schedules of a task: what it costs before it is tuned.

Nothing is searched.  As AutoTVM's fallback configurations do, every axis gets a fixed tile:
``SIDE`` elements along each axis for one core, ``THREADS`` (``WARPS`` on tensor cores) of a GPU's
block or the cores of an MLU's cluster working on them, one step everywhere else; all cores, one
version of each buffer, no unrolling, the widest vectors.  Where that does not run, the side is
halved, and where no side runs the vectors are.  Each sketch has one such schedule, and the fastest
of these few is the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod

import numpy as np

from hwsim.chip import Chip
from hwsim.columns import SIMULATED
from pruner.task import Decision as TaskDecision
from traces import Measurement
from tuner.decisions import IntColumn
from tuner.measure import Job, Recalled, SimBackend
from tuner.problem import Problem
from tuner.search import Pool, SketchSpace
from tuner.sketch import Sketch
from tuner.truth import truth

SIDE = 64  # elements of a tile along each axis
THREADS, WARPS, CLUSTER = 16, 2, 4  # along each axis that has threads, by what a thread is
_VECTOR = "vector_lanes"
SPLIT = 256  # threads of a block where nothing but their number is decided


@dataclass(frozen=True)
class Default:
    """A sketch's default schedule: the tile's ``side``, and what it measures where it was."""

    sketch: int
    row: IntColumn
    side: int
    latency_us: float = inf


def default_schedules(problem: Problem) -> list[Default]:
    """One for each sketch that has one: of the largest side that TVM and the chip take.

    Nothing is replayed where the sketches have the columns road.  What a real chip takes is not
    known before it is measured: there the side stays whole.
    """
    found = (_of_sketch(problem, sketch) for sketch in problem.sketches)
    return [d for d in found if d is not None]


def defaults_in(problem: Problem, spaces: Sequence[SketchSpace]) -> tuple[Pool, list[int]]:
    """The defaults that ``spaces``, one a sketch, hold; the sketches whose default is outside."""
    parts = [np.empty((0, space.width), dtype=np.int64) for space in spaces]
    outside = []
    for default in default_schedules(problem):
        if spaces[default.sketch].holds(default.row[None])[0]:
            parts[default.sketch] = default.row[None]
        else:
            outside.append(default.sketch)
    return Pool(tuple(parts)), outside


def fastest_default(
    problem: Problem, known: Mapping[str, Measurement], repeats: int, seed: int
) -> Default | None:
    """The fastest of the sketches' defaults; None where none of them runs.

    ``known`` are measurements by candidate; a simulator makes those that are missing.
    """
    backend = Recalled(
        SimBackend(problem.workload, problem.chip, repeats=repeats, seed=seed), known
    )
    best = None
    for default in default_schedules(problem):
        candidate = problem.sketches[default.sketch].hash(default.row)
        if candidate not in known and problem.chip.backend not in SIMULATED:
            continue
        job = Job(candidate, problem.handle(default.sketch, default.row))
        us = backend.measure([job])[0].mean_us
        if us < (best.latency_us if best else inf):
            best = replace(default, latency_us=us)
    return best


def _of_sketch(problem: Problem, sketch: Sketch) -> Default | None:
    decisions = problem.tasks[sketch.index].decisions
    widest = max((int(d.values.max()) for d in decisions if d.meaning == _VECTOR), default=1)
    for lanes, side in product(_halved(widest), _halved(SIDE)):
        row = _row(sketch, decisions, side, lanes)
        if problem.chip.backend not in SIMULATED or _runs(problem, sketch, row):
            return Default(sketch.index, row, side)
    return None


def _runs(problem: Problem, sketch: Sketch, row: IntColumn) -> bool:
    return bool(np.isfinite(truth(problem, problem.pool(sketch.index, row[None])).latency_us[0]))


def _halved(whole: int) -> list[int]:
    return [whole >> shift for shift in range(whole.bit_length())]


def _row(sketch: Sketch, decisions: tuple[TaskDecision, ...], side: int, lanes: int) -> IntColumn:
    row = np.empty((1, sketch.width), dtype=np.int64)
    for own, described in zip(sketch.decisions, decisions, strict=True):
        wanted = [_value(described, lanes)]
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


def _value(decision: TaskDecision, lanes: int) -> int:
    """Index of a categorical's default among its values."""
    values = decision.values[:, 0]
    if decision.meaning == _VECTOR:
        return int(np.argmax(np.where(values <= lanes, values, 0)))
    if decision.meaning == "cores":
        return int(np.argmax(values))
    if decision.meaning == "threads":
        return int(np.argmin(abs(values - SPLIT)))
    return 0
