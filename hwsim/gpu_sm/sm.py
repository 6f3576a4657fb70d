"""One streaming multiprocessor on SimPy: blocks in slots, workers on sub-partitions, FIFO units.

A unit serves one request after another; asking returns when the request will be done, so that a
request costs no event of its own.  Reads hold their worker until the data are there; stores leave
it as soon as they are queued.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import simpy

from hwsim.gpu_sm.chip import SUB_PARTITIONS
from hwsim.gpu_sm.program import Part, Program

Process = Generator[Any, Any, None]
ClkSpan = tuple[str, str, float, float]  # unit, name, start, end


@dataclass
class Unit:
    """A FIFO server; ``spans`` are kept where a list is given."""

    env: simpy.Environment
    name: str
    spans: list[ClkSpan] | None = None
    free_at: float = 0.0
    busy: float = 0.0

    def ask(self, clk: float, what: str) -> float:
        """Queue ``clk`` of work now; the time when it is done."""
        if clk <= 0:
            return float(self.env.now)
        start = max(float(self.env.now), self.free_at)
        self.free_at = start + clk
        self.busy += clk
        if self.spans is not None:
            self.spans.append((self.name, what, start, self.free_at))
        return self.free_at


@dataclass
class Sm:
    """The units of one SM, its share of L2 and DRAM, and what has happened."""

    env: simpy.Environment
    recording: bool
    pipes: list[Unit] = field(init=False)
    lsu: Unit = field(init=False)
    l2: Unit = field(init=False)
    dram: Unit = field(init=False)
    spans: list[ClkSpan] = field(default_factory=list)
    residents: list[tuple[float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        spans = self.spans if self.recording else None
        self.pipes = [Unit(self.env, f"pipe{i}", spans) for i in range(SUB_PARTITIONS)]
        self.lsu, self.l2, self.dram = (Unit(self.env, n, spans) for n in ("lsu", "l2", "dram"))

    @property
    def units(self) -> list[Unit]:
        """All of them, sub-partitions first."""
        return [*self.pipes, self.lsu, self.l2, self.dram]


@dataclass
class Block:
    """One resident block: its barrier."""

    env: simpy.Environment
    workers: int
    arrived: int = 0
    gate: simpy.Event = field(init=False)

    def __post_init__(self) -> None:
        self.gate = self.env.event()

    def arrive(self) -> simpy.Event:
        """The barrier's event: it fires when every worker has arrived."""
        self.arrived += 1
        gate = self.gate
        if self.arrived == self.workers:
            self.arrived, self.gate = 0, self.env.event()
            gate.succeed()
        return gate


def run_sm(program: Program, recording: bool = False) -> tuple[float, Sm]:
    """Run the program's blocks; ``(clocks until the last store is written, the SM)``."""
    env = simpy.Environment()
    sm = Sm(env, recording)
    waiting = list(range(program.blocks))
    for slot in range(program.resident):
        env.process(_slot(sm, program, slot, waiting))
    env.run()
    return max([float(env.now), *(unit.free_at for unit in sm.units)]), sm


def _slot(sm: Sm, program: Program, slot: int, waiting: list[int]) -> Process:
    """A place for one block on the SM: takes the next waiting block when the last one is done."""
    while waiting:
        number = waiting.pop(0)
        yield sm.env.timeout(program.launch_clk)
        sm.residents.append((float(sm.env.now), 1))
        block = Block(sm.env, program.workers)
        first = slot * program.workers
        run = _pipelined if program.stages > 1 else _serial
        yield sm.env.all_of(
            [sm.env.process(run(sm, program, block, first + i)) for i in range(program.workers)]
        )
        sm.residents.append((float(sm.env.now), -1))
        del number


def _serial(sm: Sm, program: Program, block: Block, worker: int) -> Process:
    """Stage, meet, compute; then the next step."""
    pipe = sm.pipes[worker % SUB_PARTITIONS]
    for _ in range(program.steps):
        yield from _until(sm, _fetch(sm, program, pipe))
        yield block.arrive()
        yield from _compute(sm, program, pipe)
        yield block.arrive()
    _store(sm, program.epilogue, pipe)


def _pipelined(sm: Sm, program: Program, block: Block, worker: int) -> Process:
    """The loads of later steps are under way while a step computes."""
    pipe = sm.pipes[worker % SUB_PARTITIONS]
    ahead = min(program.stages - 1, program.steps)
    ready = [_fetch(sm, program, pipe) for _ in range(ahead)]
    for step in range(program.steps):
        yield from _until(sm, ready.pop(0))
        yield block.arrive()
        if step + ahead < program.steps:
            ready.append(_fetch(sm, program, pipe))
        start, part = float(sm.env.now), program.main
        done = (_operands(sm, part), pipe.ask(part.pipe, "compute"))
        yield from _until(sm, max(*done, start + program.compute_latency))
    _store(sm, program.epilogue, pipe)


def _fetch(sm: Sm, program: Program, pipe: Unit) -> float:
    """Ask for one step's tiles; when they are in shared memory."""
    part = program.stage
    done = [pipe.ask(part.pipe, "stage"), sm.lsu.ask(part.lsu, "stage")]
    done += [sm.l2.ask(part.l2, "read"), sm.dram.ask(part.dram, "read")]
    return max(*done, float(sm.env.now) + program.stage_latency)


def _compute(sm: Sm, program: Program, pipe: Unit) -> Process:
    """Operands, then arithmetic, piece by piece: other workers fill the gaps."""
    part = program.main.scaled(1 / program.chunks)
    for _ in range(program.chunks):
        start = float(sm.env.now)
        yield from _until(sm, _operands(sm, part))
        done = pipe.ask(part.pipe, "compute")
        yield from _until(sm, max(done, start + program.compute_latency / program.chunks))


def _operands(sm: Sm, part: Part) -> float:
    done = [sm.lsu.ask(part.lsu, "operands")]
    done += [sm.l2.ask(part.l2, "operands"), sm.dram.ask(part.dram, "operands")]
    return max(done)


def _store(sm: Sm, part: Part, pipe: Unit) -> None:
    pipe.ask(part.pipe, "store")
    sm.lsu.ask(part.lsu, "store")
    sm.l2.ask(part.l2, "write")
    sm.dram.ask(part.dram, "write")


def _until(sm: Sm, time: float) -> Process:
    if time > sm.env.now:
        yield sm.env.timeout(time - sm.env.now)
