"""Discrete-event model of an Ascend core: one kernel at a time, queue by queue, on SimPy.

Costs are those of the analytical model (:mod:`hwsim.ascend_cube.costs`); how they overlap comes
out of queues, buffers and flags instead of formulas.  Long kernels are periodic: they are simulated
with fewer tiles and fewer MMADs a tile at two lengths each, and continued bilinearly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hwsim.ascend_cube.chip import AscendChip
from hwsim.ascend_cube.costs import costs_of
from hwsim.ascend_cube.limits import limits, timeout
from hwsim.ascend_cube.pipes import Span
from hwsim.ascend_cube.program import Program, program_of, run_block
from hwsim.result import Failure, first_exceeded
from hwsim.table import KernelTable

FULL_STEPS = 1024  # a block of so many MMADs and vector stages is simulated whole
_TILES = (3, 5)  # tiles of the shortened blocks
_PERIODS = 8  # L1 stages of a shortened tile; the longer one has twice as many
_MOST_STEPS = 256


@dataclass(frozen=True)
class DesResult:
    """What one kernel does.

    ``latency_us`` is ``inf`` for a failure.  ``busy_us`` is the busy time of each pipe in one
    block.  ``timeline`` has spans ``(unit, name, start_us, end_us)`` of a block, of its shortened
    form where it was ``extrapolated``; the latency is then within :data:`EXTRAPOLATION_BOUND` of
    the full simulation.
    """

    latency_us: float
    failure: Failure
    busy_us: Mapping[str, float] = field(default_factory=dict)
    extrapolated: bool = False
    timeline: tuple[Span, ...] = ()


EXTRAPOLATION_BOUND = 0.03


def simulate_one(
    table: KernelTable,
    row: int,
    chip: AscendChip,
    *,
    timeline: bool = False,
    full_steps: int = FULL_STEPS,
) -> DesResult:
    """Simulate row ``row`` of ``table`` on ``chip``; the same row gives the same result."""
    one = table.take(np.array([row]))
    failure, _ = first_exceeded(limits(one, chip), 1)
    if failure[0] != Failure.ok:
        return DesResult(np.inf, Failure(int(failure[0])))
    costs = costs_of(one, chip)
    program = program_of(one, costs, 0)
    spans: list[Span] | None = [] if timeline else None
    whole = program.tiles * max(program.steps, 1) + program.stages <= full_steps
    block_us, busy_us = run_block(program, spans) if whole else _continued(program, spans)
    block_us = max(block_us, float(costs.scalar_us[0]))
    latency_us = float(costs.kernel_us(np.array([block_us]))[0])
    failure, _ = first_exceeded((timeout(np.array([latency_us]), chip),), 1)
    if failure[0] != Failure.ok:
        return DesResult(np.inf, Failure.timeout)
    return DesResult(latency_us, Failure.ok, busy_us, not whole, tuple(spans or ()))


def _continued(program: Program, spans: list[Span] | None) -> tuple[float, dict[str, float]]:
    """Block time and busy times, bilinear in tiles and steps, from up to four shortened blocks."""
    tiles, steps = _lengths(program.tiles, *_TILES), _lengths(program.steps, *_step_pair(program))
    grid = {
        (t, s): run_block(
            program.shortened(t, s), spans if (t, s) == (tiles[0], steps[0]) else None
        )
        for t in dict.fromkeys(tiles)
        for s in dict.fromkeys(steps)
    }
    names = grid[tiles[0], steps[0]][1]

    def extend(values: Mapping[tuple[int, int], float]) -> float:
        rows = [
            _line(steps, values[t, steps[0]], values[t, steps[1]], program.steps) for t in tiles
        ]
        return _line(tiles, rows[0], rows[1], program.tiles)

    busy = {name: extend({at: run[1][name] for at, run in grid.items()}) for name in names}
    return extend({at: run[0] for at, run in grid.items()}), busy


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


def _line(at: tuple[int, int], low: float, high: float, to: int) -> float:
    if at[0] == at[1]:
        return low
    return high + (high - low) / (at[1] - at[0]) * (to - at[1])
