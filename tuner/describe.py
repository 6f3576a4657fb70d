"""A sketch as the task stage sees it: decisions with their axes, and what candidates must fit.

Everything is found by probing the sketch's nest, which costs nothing to evaluate over columns: one
prime factor is moved from a tile's outermost part to another part, and what changes tells which
loop the part makes; :mod:`tuner.quantities` finds which buffers it fills.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pruner.scopes import scopes_of
from pruner.task import Axis, Meaning, Role, Task
from pruner.task import Decision as TaskDecision
from tuner.decisions import Decision
from tuner.nest import Nest, Statement
from tuner.quantities import Measured, Probe
from tuner.sketch import Sketch

SAMPLE = 128  # random candidates that every bound has to hold on
_MEANINGS: dict[str, Meaning] = {
    "vector": "vector_lanes",
    "unroll": "unroll",
    "buffers": "buffers",
    "split": "threads",
    "tile": "steps",
    "cores": "cores",
}
_ROLES: dict[str, Role] = {"blockIdx": "core", "vthread": "vthread", "threadIdx": "thread"}
_SERIAL: Role = "serial"


def describe(sketch: Sketch) -> Task:
    """The task stage's description of a sketch; without the columnar road, or on a chip without
    scopes that a candidate can overflow, decisions alone.
    """
    backend = sketch.chip.backend
    if sketch.road == "tir" or not scopes_of(backend):
        decisions = tuple(_bare(sketch, d) for d in sketch.decisions)
        return Task(f"sketch {sketch.index}", backend, decisions, operators=_operators(sketch))
    measured = Measured.of(sketch, SAMPLE)
    main, table = _main(measured.nest), measured.table
    return Task(
        name=f"sketch {sketch.index}",
        backend=backend,
        decisions=tuple(_decision(sketch, d, main, measured.probes) for d in sketch.decisions),
        quantities=measured.quantities(main),
        matmul=bool((table["macs"] > 0).any()),
        thread_floor=int(table["thread_floor"].max()) if backend == "gpu_sm" else 0,
        operators=_operators(sketch),
    )


def _operators(sketch: Sketch) -> tuple[str, ...]:
    """The words of the workload's kind, which names its operators in order."""
    return tuple(sketch.workload.kind.split("_"))


def _bare(sketch: Sketch, d: Decision) -> TaskDecision:
    if d.kind == "perfect_tile":
        roles: tuple[Role, ...] = tuple(_SERIAL for _ in range(d.parts))
        axis = Axis(d.name, d.extent, sketch.workload.dtype)
        return TaskDecision(d.name, "tile", d.options(), roles, axis)
    values = d.options()
    if d.kind == "categorical":
        values = np.array(d.candidates, dtype=np.int64)[values]
    return TaskDecision(d.name, _meaning(d), values, axis=_value_axis(sketch, d))


def _meaning(d: Decision) -> Meaning:
    if d.kind == "compute_location":
        return "location"
    return _MEANINGS.get(d.name.split("#")[0].rsplit(".", 1)[-1], "threads")


def _value_axis(sketch: Sketch, d: Decision) -> Axis | None:
    """Vector lanes are lanes of the workload's input type."""
    if _meaning(d) != "vector_lanes":
        return None
    return Axis(d.name, 0, sketch.workload.dtype, vectorisable=True)


def _main(nest: Nest) -> Statement:
    """The statement that multiplies and accumulates, else the one under the most loops."""
    statements = [s for kernel in nest.kernels for s in kernel]
    return max(statements, key=lambda s: (s.ops.macs, s.role == "compute", len(s.digits)))


def _decision(
    sketch: Sketch, d: Decision, main: Statement, probes: Sequence[Probe]
) -> TaskDecision:
    if d.kind != "perfect_tile":
        return _bare(sketch, d)
    roles: list[Role] = ["serial"] * d.parts
    reduction = False
    for probe in (p for p in probes if p.decision is d):
        for digit in main.digits:
            moved = int(digit.extent[probe.row]) - int(digit.extent[0])
            if moved:
                part = probe.part if moved > 0 else 0
                roles[part] = _ROLES.get(digit.kind.split(".")[0], "serial")
                reduction |= digit.reduction
    unit = _unit(main, reduction)
    axis = Axis(
        name=d.name,
        length=d.extent * unit,
        dtype=sketch.workload.dtype,
        reuse=sketch.workload.flops / max(1, d.extent * unit),
        vectorisable=not reduction,
        reduction=reduction,
    )
    return TaskDecision(d.name, "tile", d.options(), tuple(roles), axis, unit)


def _unit(main: Statement, reduction: bool) -> int:
    """Elements that one step covers: a side of the tensor intrinsic, the smaller spatial one."""
    if main.intrin is None:
        return 1
    m, n, k = main.intrin
    return k if reduction else min(m, n)
