"""One kernel as the discrete-event model runs it: what a worker asks of each unit, in clocks.

A **worker** is a group of a block's warps that move together; it lives on one sub-partition.  All
times are clocks of an SM at its boost clock, the power limit's slow-down included.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from hwsim.gpu_sm.analytical import Times
from hwsim.gpu_sm.chip import SUB_PARTITIONS, GpuChip
from hwsim.gpu_sm.costs import CHIP_WIDE, Costs

WORKERS = 16  # simulated on one SM at a time
_CHUNKS = 16  # pieces of a block's arithmetic between which workers take turns
_PIPES = ("issue", "fma", "int", "special", "tensor")  # units of a sub-partition


@dataclass(frozen=True)
class Part:
    """What one worker needs for one step (or one epilogue): clocks by unit."""

    pipe: float  # of its sub-partition
    lsu: float
    l2: float
    dram: float

    def scaled(self, factor: float) -> Part:
        """The same for ``factor`` times the work."""
        return Part(self.pipe * factor, self.lsu * factor, self.l2 * factor, self.dram * factor)

    def plus(self, other: Part) -> Part:
        """Both together."""
        return Part(
            self.pipe + other.pipe, self.lsu + other.lsu, self.l2 + other.l2, self.dram + other.dram
        )


@dataclass(frozen=True)
class Program:
    """The fullest SM's work: ``blocks`` blocks, ``resident`` at a time, ``steps`` steps each."""

    blocks: int
    resident: int
    workers: int  # of one block
    steps: int
    chunks: int  # of one step's arithmetic
    stages: int  # software pipeline depth (1: none)
    stage: Part
    main: Part
    epilogue: Part
    launch_clk: float
    stage_latency: float  # of one step
    compute_latency: float  # of one step

    @property
    def finite(self) -> bool:
        """Every amount is a number that can be simulated."""
        parts = (self.stage, self.main, self.epilogue)
        amounts = [x for part in parts for x in (part.pipe, part.lsu, part.l2, part.dram)]
        return all(map(math.isfinite, (*amounts, self.stage_latency, self.compute_latency)))

    @property
    def total(self) -> Part:
        """What all workers of all blocks ask of the units."""
        step, end = self.stage.plus(self.main).scaled(self.steps), self.epilogue
        return step.plus(end).scaled(self.blocks * self.workers)

    @property
    def busiest_clk(self) -> float:
        """Clocks of one block on the unit that it keeps busiest."""
        total = self.total
        per_sm = max(total.pipe / SUB_PARTITIONS, total.lsu, total.l2, total.dram)
        return per_sm / self.blocks

    def shortened(self, steps: int) -> Program:
        """The same with fewer steps a block."""
        return replace(self, steps=steps)


def program_of(costs: Costs, times: Times, chip: GpuChip, stages: int) -> Program:
    """Program of a kernel from costs and times of one row."""
    blocks = math.ceil(_first(costs.work.blocks) / chip.sms)
    resident = min(int(_first(costs.occupancy.blocks_sm)), blocks)
    workers = int(max(1, min(_first(costs.work.warps), WORKERS // resident)))
    steps = int(_first(costs.steps))
    slow = _first(times.slowdown)
    spread = _first(costs.work.blocks) / chip.sms / blocks  # L2 and DRAM serve emptier SMs too
    chunks = max(1, min(_CHUNKS // steps, round(_first(costs.work.iterations))))

    def part(demand: Mapping[str, np.ndarray], share: float) -> Part:
        clk = {
            u: _first(v) * share * (spread if u in CHIP_WIDE else slow) for u, v in demand.items()
        }
        pipe = max(clk.get(unit, 0.0) for unit in _PIPES) * SUB_PARTITIONS
        return Part(pipe, clk["lsu"], clk["l2"], clk["dram"])

    return Program(
        blocks=blocks,
        resident=resident,
        workers=workers,
        steps=steps,
        chunks=chunks,
        stages=stages,
        stage=part(costs.stage, 1 / workers / steps),
        main=part(costs.main, 1 / workers / steps),
        epilogue=part(costs.epilogue, 1 / workers),
        launch_clk=_first(costs.launch_path) * slow,
        stage_latency=_first(costs.stage_path) / steps * slow * max(stages - 1, 1),
        compute_latency=_first(costs.compute_path) / steps * slow,
    )


def _first(column: np.ndarray) -> float:
    return float(column[0])
