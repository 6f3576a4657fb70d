"""Discrete-event model of an NVIDIA GPU: one kernel at a time on SimPy.

Costs are those of the analytical model (:mod:`hwsim.gpu_sm.costs`); how they overlap comes out of
queues, slots and barriers instead of formulas.  The SM with the most blocks is simulated, with its
share of L2 and DRAM.  Long kernels are periodic in blocks and steps: they are simulated at two
lengths of each and continued bilinearly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from hwsim.gpu_sm.analytical import times_of
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.costs import costs_of
from hwsim.gpu_sm.occupancy import limits, timeout
from hwsim.gpu_sm.program import Program, program_of
from hwsim.gpu_sm.sm import Sm, run_sm
from hwsim.result import Failure, first_exceeded
from hwsim.table import KernelTable
from hwsim.timeline import Level, Span

FULL_STEPS = 64  # blocks times steps of an SM that are simulated whole
EXTRAPOLATION_BOUND = 0.05
_STEPS = (6, 12)  # of the shortened blocks


@dataclass(frozen=True)
class DesResult:
    """What one kernel does.

    ``latency_us`` is ``inf`` for a failure.  ``busy_us`` is the busy time of each unit of the
    fullest SM (``pipe0`` to ``pipe3`` are its sub-partitions).  ``timeline`` has the spans and
    ``levels`` the resident blocks over time, of the shortened form where it was ``extrapolated``;
    the latency is then within :data:`EXTRAPOLATION_BOUND` of the full simulation.
    """

    latency_us: float
    failure: Failure
    busy_us: Mapping[str, float] = field(default_factory=dict)
    extrapolated: bool = False
    timeline: tuple[Span, ...] = ()
    levels: tuple[Level, ...] = ()

    @property
    def error_bound(self) -> float:
        """Relative bound on what shortening the kernel can cost."""
        return EXTRAPOLATION_BOUND if self.extrapolated else 0.0


def simulate_one(
    table: KernelTable,
    row: int,
    chip: GpuChip,
    *,
    timeline: bool = False,
    full_steps: int = FULL_STEPS,
) -> DesResult:
    """Simulate row ``row`` of ``table`` on ``chip``; the same row gives the same result."""
    one = table.take(np.array([row]))
    failure, _ = first_exceeded(limits(one, chip), 1)
    if failure[0] != Failure.ok:
        return DesResult(np.inf, Failure(int(failure[0])))
    with np.errstate(over="ignore", invalid="ignore"):  # beyond float64: a time-out
        costs = costs_of(one, chip)
        program = program_of(costs, times_of(costs, chip), chip, int(one["pipeline_stages"][0]))
    if not program.finite:
        return DesResult(np.inf, Failure.timeout)
    whole = program.blocks * program.steps <= full_steps
    run = _run(program, chip, timeline) if whole else _continued(program, chip, timeline)
    latency_us = run.clk * 1e6 / chip.hz + chip.launch_us
    late, _ = first_exceeded((timeout(np.array([latency_us]), chip),), 1)
    if late[0] != Failure.ok:
        return DesResult(np.inf, Failure.timeout)
    busy = {unit: clk * 1e6 / chip.hz for unit, clk in run.busy.items()}
    return DesResult(latency_us, Failure.ok, busy, not whole, run.spans, run.levels)


@dataclass(frozen=True)
class _Run:
    clk: float
    busy: Mapping[str, float]
    spans: tuple[Span, ...]
    levels: tuple[Level, ...]


def _run(program: Program, chip: GpuChip, timeline: bool) -> _Run:
    clk, sm = run_sm(program, timeline)
    us = 1e6 / chip.hz
    spans = tuple((unit, what, start * us, end * us) for unit, what, start, end in sm.spans)
    busy = {unit.name: unit.busy for unit in sm.units}
    return _Run(clk, busy, spans, _levels(sm, us) if timeline else ())


def _levels(sm: Sm, us: float) -> tuple[Level, ...]:
    times, changes = zip(*sm.residents, strict=True)
    values = np.cumsum(changes)
    return tuple(("resident blocks", t * us, float(v)) for t, v in zip(times, values, strict=True))


def _continued(program: Program, chip: GpuChip, timeline: bool) -> _Run:
    """Time and busy times, bilinear in blocks and steps, from up to four shortened kernels."""
    blocks = _lengths(program.blocks, *_block_pair(program))
    steps = _lengths(program.steps, *_STEPS)
    runs = {
        (b, s): _run(program.shortened(b, s), chip, timeline)
        for b in dict.fromkeys(blocks)
        for s in dict.fromkeys(steps)
    }

    def extend(of: Callable[[_Run], float]) -> float:
        ends = tuple(
            _line(steps, tuple(of(runs[b, s]) for s in steps), program.steps) for b in blocks
        )
        return _line(blocks, ends, program.blocks)

    first = runs[blocks[0], steps[0]]
    busy = {unit: extend(_busy_of(unit)) for unit in first.busy}
    return _Run(extend(lambda run: run.clk), busy, first.spans, first.levels)


def _busy_of(unit: str) -> Callable[[_Run], float]:
    return lambda run: run.busy[unit]


def _block_pair(program: Program) -> tuple[int, int]:
    """Whole rounds of resident blocks, with the last round as full as in the kernel."""
    rest = program.blocks % program.resident or program.resident
    return program.resident + rest, 3 * program.resident + rest


def _lengths(whole: int, short: int, longer: int) -> tuple[int, int]:
    """Two lengths to simulate; the whole length twice where it is no longer than they are."""
    return (whole, whole) if whole <= longer else (short, longer)


def _line(at: tuple[int, int], values: tuple[float, ...], where: int) -> float:
    """The line through two points (one point: a constant), at ``where``."""
    if at[0] == at[1]:
        return values[0]
    slope = (values[1] - values[0]) / (at[1] - at[0])
    return values[0] + slope * (where - at[0])
