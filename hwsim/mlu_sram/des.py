"""Discrete-event model of the MLU370: one kernel at a time on SimPy.

The costs are those of :mod:`hwsim.mlu_sram.costs`; what differs from the analytical model is that
overlap, back-pressure and the sharing of the bus come out of the events.

One round of blocks is simulated for each distinct filling of the machine, since equal rounds take
equal time.  A block of more than ``steps`` steps is shortened:

* outputs beyond the sixth repeat: the period of the last ones is added for each one left out, and
  ``error_bound`` is the drift between two periods for every one of them;
* where the steps of what remains are still too many they are merged evenly, and ``error_bound``
  is the distance to what cannot be passed: the busiest engine alone, and no overlap at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import simpy

from hwsim.event_result import DesResult
from hwsim.farm import run_time
from hwsim.mlu_sram.bus import Bus
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.costs import block_costs
from hwsim.mlu_sram.limits import limits
from hwsim.mlu_sram.placement import place
from hwsim.mlu_sram.processes import Group, Recording, run_group
from hwsim.mlu_sram.program import Program, program_of
from hwsim.result import Failure, first_exceeded
from hwsim.rows import Rows
from hwsim.table import KernelTable

STEPS = 1024  # steps of a block that are simulated one by one
_OUTPUTS = 6  # outputs after which a long block is taken to repeat itself


def simulate_one(
    table: KernelTable, row: int, chip: MluChip, *, timeline: bool = False, steps: int = STEPS
) -> DesResult:
    """Run row ``row`` of ``table`` on ``chip``.

    ``steps`` bounds the steps of a block that are simulated one by one; the analytical model's
    limits decide what runs at all.
    """
    one = Rows(table.take(np.array([row])))
    failure, _ = first_exceeded(limits(one, chip), 1)
    if failure[0] != Failure.ok:
        return DesResult(np.inf, Failure(int(failure[0])))
    rounds = [(_round(one, chip, f, steps, timeline), f.times) for f in _fillings(one, chip)]
    latency = chip.launch_us + sum(r.latency_us * times for r, times in rounds)
    late, _ = first_exceeded((run_time(np.array([latency]), chip.bench),), 1)
    if late[0] != Failure.ok:
        return DesResult(np.inf, Failure.timeout)
    names = rounds[0][0].busy_us
    return DesResult(
        latency_us=latency,
        failure=Failure.ok,
        busy_us={name: sum(r.busy_us[name] * times for r, times in rounds) for name in names},
        error_bound=max(r.error_bound for r, _ in rounds),
        timeline=tuple(rounds[0][0].recording.spans),
        levels=tuple(rounds[0][0].recording.levels),
    )


@dataclass(frozen=True)
class _Filling:
    """A round of blocks that occurs ``times``."""

    groups: tuple[Group, ...]
    times: int


def _fillings(rows: Rows, chip: MluChip) -> list[_Filling]:
    """Full rounds first, then the part-filled last one."""
    union = bool(place(rows, chip).union[0])
    cores = int(rows["cores_per_cluster"][0])
    slots = chip.clusters if union else chip.cores
    full, rest = divmod(int(rows["clusters"][0]), slots)
    lanes = cores if union else chip.cores_per_cluster
    out = [_Filling((Group(0, chip.clusters, lanes),), full)] if full else []
    if rest:
        few, more = divmod(rest, chip.clusters)
        unit = cores if union else 1
        groups = (Group(0, more, (few + 1) * unit), Group(more, chip.clusters - more, few * unit))
        out.append(_Filling(tuple(g for g in groups if g.clusters and g.lanes), 1))
    return out


@dataclass(frozen=True)
class _Round:
    latency_us: float
    busy_us: Mapping[str, float]
    error_bound: float
    recording: Recording


def _round(rows: Rows, chip: MluChip, filling: _Filling, steps: int, timeline: bool) -> _Round:
    program = program_of(block_costs(rows, chip), float(rows["work_share"][0]))
    short = program.shortened(_OUTPUTS, steps)
    env = simpy.Environment()
    bus = Bus(env)
    ratio = chip.ddr_gbps / chip.cluster_ddr_gbps
    recording = Recording() if timeline else None
    runs = [run_group(env, bus, short, group, ratio, recording) for group in filling.groups]
    env.run()
    last = max(runs, key=lambda run: run.ends_us[-1])
    busy_us = last.busy_us | {"bus": bus.busy_us}
    return _extrapolated(program, short, last.ends_us, busy_us, recording or Recording())


def _extrapolated(
    program: Program,
    short: Program,
    ends_us: list[float],
    busy_us: Mapping[str, float],
    recording: Recording,
) -> _Round:
    """The round's time from that of its shortened program, with the bound on the difference."""
    left_out = program.outputs - short.outputs
    latency, error = ends_us[-1], 0.0
    if left_out:
        period = ends_us[-2] - ends_us[-3]  # the last output drains the pipeline
        error = abs(period - (ends_us[-3] - ends_us[-4])) * left_out
        latency += period * left_out
    scale = program.outputs / short.outputs
    busy = {unit: us * scale for unit, us in busy_us.items()}
    if short.steps * scale < program.steps * (1 - 1e-9):
        engines = [busy[unit] for unit in ("io", "mv", "core")]
        error = max(error, sum(engines) - latency, latency - max(engines))
    return _Round(latency, busy, error / latency if latency else 0.0, recording)
