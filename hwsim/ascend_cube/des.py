"""Discrete-event model of an Ascend core: one kernel at a time, queue by queue, on SimPy.

Costs are those of the analytical model (:mod:`hwsim.ascend_cube.costs`); how they overlap comes
out of queues, buffers and flags instead of formulas.  Long kernels are periodic: they are simulated
with fewer tiles and fewer MMADs a tile at two lengths each, and continued bilinearly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hwsim.ascend_cube.chip import AscendChip
from hwsim.ascend_cube.costs import costs_of
from hwsim.ascend_cube.limits import limits
from hwsim.ascend_cube.program import Program, Run, program_of, run_block
from hwsim.event_result import DesResult
from hwsim.farm import run_time
from hwsim.result import Failure, first_exceeded
from hwsim.rows import Rows
from hwsim.table import KernelTable

FULL_STEPS = 1024  # a block of so many MMADs and vector stages is simulated whole
_TILES = (3, 5)  # tiles of the shortened blocks
_PERIODS = 8  # L1 stages of a shortened tile; the longer one has twice as many
_MOST_STEPS = 256
_L1_LOADS = ("a_gm_l1", "b_gm_l1")


EXTRAPOLATION_BOUND = 0.05


def simulate_one(
    table: KernelTable,
    row: int,
    chip: AscendChip,
    *,
    timeline: bool = False,
    full_steps: int = FULL_STEPS,
) -> DesResult:
    """Simulate row ``row`` of ``table`` on ``chip``; the same row gives the same result."""
    one = Rows(table.take(np.array([row])))
    failure, _ = first_exceeded(limits(one, chip), 1)
    if failure[0] != Failure.ok:
        return DesResult(np.inf, Failure(int(failure[0])))
    with np.errstate(over="ignore", invalid="ignore"):  # beyond float64: a time-out
        costs = costs_of(one, chip)
    program = program_of(one, costs, 0)
    if not program.finite:
        return DesResult(np.inf, Failure.timeout)
    whole = program.tiles * max(program.steps, 1) + program.stages <= full_steps
    run = run_block(program) if whole else _continued(program)
    block_us = np.maximum(run.block_us, costs.scalar_us)
    latency_us = costs.kernel_us(block_us)
    late, _ = first_exceeded((run_time(latency_us, chip.bench),), 1)
    if late[0] != Failure.ok:
        return DesResult(np.inf, Failure.timeout)
    spans, levels = (run.spans, run.levels) if timeline else ((), ())
    bound = 0.0 if whole else EXTRAPOLATION_BOUND
    return DesResult(float(latency_us[0]), Failure.ok, run.busy_us, bound, spans, levels)


def _continued(program: Program) -> Run:
    """Block time and busy times, bilinear in tiles and steps, from up to four shortened blocks."""
    tiles = _lengths(program.tiles, *_tile_pair(program))
    steps = _lengths(program.steps, *_step_pair(program))
    runs = {
        (t, s): run_block(program.shortened(t, s))
        for t in dict.fromkeys(tiles)
        for s in dict.fromkeys(steps)
    }

    def extend(of: Callable[[Run], float]) -> float:
        low, high = ([of(runs[t, s]) for s in steps] for t in tiles)
        ends = _line(steps, low, program.steps), _line(steps, high, program.steps)
        return _line(tiles, ends, program.tiles)

    first = runs[tiles[0], steps[0]]
    busy = {name: extend(_busy_of(name)) for name in first.busy_us}
    return replace(first, block_us=extend(lambda run: run.block_us), busy_us=busy)


def _busy_of(pipe: str) -> Callable[[Run], float]:
    return lambda run: run.busy_us[pipe]


def _tile_pair(program: Program) -> tuple[int, int]:
    """Whole periods of an operand that stays in L1 over several tiles."""
    loads = min((program.loads[s].count for s in _L1_LOADS if program.loads), default=1.0)
    period = round(program.tiles / max(loads, 1))
    if period <= 1 or period * max(program.steps, 1) > _MOST_STEPS:
        return _TILES
    return 2 * period, 3 * period


def _step_pair(program: Program) -> tuple[int, int]:
    """Whole L1 stages, so that the shortened tiles hold the same loads a step."""
    loads = min(
        (program.loads[s].count for s in ("a_gm_l1", "b_gm_l1") if program.loads), default=1
    )
    per_load = max(1, round(program.steps * program.tiles / max(loads, 1)))
    fewer = max(per_load, _MOST_STEPS // 2 // per_load * per_load)
    fewer = min(fewer, _PERIODS * per_load)
    return fewer, 2 * fewer


def _lengths(real: int, fewer: int, more: int) -> tuple[int, int]:
    return (fewer, more) if real > more else (real, real)


def _line(at: tuple[int, int], values: Sequence[float], to: int) -> float:
    if at[0] == at[1]:
        return values[0]
    return values[1] + (values[1] - values[0]) / (at[1] - at[0]) * (to - at[1])
