"""Discrete-event model of an NVIDIA GPU: one kernel at a time on SimPy.

Costs are those of the analytical model (:mod:`hwsim.gpu_sm.costs`); how they overlap comes out of
queues, slots and barriers instead of formulas.  The SM with the most blocks is simulated, with its
share of L2 and DRAM.  Long kernels are periodic: blocks are simulated until rounds of them take
equal time, steps at two lengths, and both are continued linearly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from hwsim.event_result import DesResult
from hwsim.farm import run_time
from hwsim.gpu_sm.analytical import times_of
from hwsim.gpu_sm.chip import GpuChip
from hwsim.gpu_sm.costs import costs_of
from hwsim.gpu_sm.occupancy import limits, occupancy_of
from hwsim.gpu_sm.program import Program, program_of
from hwsim.gpu_sm.sm import Sm, run_sm
from hwsim.result import Failure, first_exceeded
from hwsim.rows import Rows
from hwsim.table import KernelTable
from hwsim.timeline import Level, Span

FULL_STEPS = 3000  # steps of all workers of an SM that are simulated whole
EXTRAPOLATION_BOUND = 0.05
_STEPS = (10, 20)  # of the shortened blocks
_ROUNDS = 10  # of resident blocks that are simulated whole


def simulate_one(
    table: KernelTable,
    row: int,
    chip: GpuChip,
    *,
    timeline: bool = False,
    full_steps: int = FULL_STEPS,
) -> DesResult:
    """Simulate row ``row`` of ``table`` on ``chip``; the same row gives the same result."""
    one = Rows(table.take(np.array([row])))
    failure, _ = first_exceeded(limits(one, chip, occupancy_of(one, chip)), 1)
    if failure[0] != Failure.ok:
        return DesResult(np.inf, Failure(int(failure[0])))
    with np.errstate(over="ignore", invalid="ignore"):  # beyond float64: a time-out
        costs = costs_of(one, chip)
        program = program_of(costs, times_of(costs, chip), chip, int(one["pipeline_stages"][0]))
    if not program.finite:
        return DesResult(np.inf, Failure.timeout)
    whole = program.blocks * program.workers * program.steps * program.chunks <= full_steps
    run = (
        _run(program, chip, timeline, detect=False)
        if whole
        else _continued(program, chip, timeline)
    )
    latency_us = run.clk * 1e6 / chip.hz + chip.launch_us
    late, _ = first_exceeded((run_time(np.array([latency_us]), chip.bench),), 1)
    if late[0] != Failure.ok:
        return DesResult(np.inf, Failure.timeout)
    busy = {unit: clk * 1e6 / chip.hz for unit, clk in run.busy.items()}
    bound = 0.0 if whole else EXTRAPOLATION_BOUND
    return DesResult(latency_us, Failure.ok, busy, bound, run.spans, run.levels)


@dataclass(frozen=True)
class _Run:
    clk: float
    busy: Mapping[str, float]
    spans: tuple[Span, ...]
    levels: tuple[Level, ...]


def _run(program: Program, chip: GpuChip, timeline: bool, detect: bool) -> _Run:
    clk, sm = run_sm(program, recording=timeline, detect=detect)
    us = 1e6 / chip.hz
    spans = tuple((unit, what, start * us, end * us) for unit, what, start, end in sm.spans)
    return _Run(clk, _busy(program, sm), spans, _levels(sm, us) if timeline else ())


def _busy(program: Program, sm: Sm) -> dict[str, float]:
    """Busy clocks over the whole program, shared among sub-partitions as in what was simulated."""
    total = program.total
    pipes = sum(unit.busy for unit in sm.pipes)
    share = total.pipe / pipes if pipes else 0.0
    busy = {unit.name: unit.busy * share for unit in sm.pipes}
    return busy | {"lsu": total.lsu, "l2": total.l2, "dram": total.dram}


def _levels(sm: Sm, us: float) -> tuple[Level, ...]:
    times, changes = zip(*sm.residents, strict=True)
    values = np.cumsum(changes)
    return tuple(("resident blocks", t * us, float(v)) for t, v in zip(times, values, strict=True))


def _continued(program: Program, chip: GpuChip, timeline: bool) -> _Run:
    """Blocks until they repeat themselves, and steps at two lengths, continued linearly."""
    detect = program.blocks > _ROUNDS * program.resident
    if program.steps <= _STEPS[1]:
        return _run(program, chip, timeline, detect)
    short, longer = (_run(program.shortened(s), chip, timeline, detect) for s in _STEPS)
    scale = (program.steps - _STEPS[0]) / (_STEPS[1] - _STEPS[0])

    def extend(low: float, high: float) -> float:
        return low + scale * (high - low)

    busy = {unit: extend(short.busy[unit], longer.busy[unit]) for unit in short.busy}
    clk = max(extend(short.clk, longer.clk), program.blocks * program.busiest_clk)
    return replace(short, clk=clk, busy=busy)
