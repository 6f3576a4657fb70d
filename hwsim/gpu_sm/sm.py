"""One streaming multiprocessor on SimPy: blocks in slots, workers on sub-partitions, FIFO units.

A unit serves one request after another; asking returns when the request will be done, so that a
request costs no event of its own.  Reads hold their worker until the data are there, stores only
where the queue before them is long.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import simpy

from hwsim.gpu_sm.chip import SUB_PARTITIONS
from hwsim.gpu_sm.program import Part, Program

_STEADY = 0.005  # rounds of blocks that differ by less repeat themselves
_ROUNDS = 4  # so many of them have to
_PIECES = 48  # and more rounds of short blocks, whose warps drift apart more slowly
_MOST_ROUNDS = 64
_STORE_QUEUE = 1000.0  # clocks of stores that wait for L2 and DRAM without holding a warp

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
    rounds: list[float] = field(default_factory=list)  # when each round of blocks was done
    finished: int = 0
    steady: simpy.Event = field(init=False)

    def __post_init__(self) -> None:
        spans = self.spans if self.recording else None
        self.steady = self.env.event()
        self.pipes = [Unit(self.env, f"pipe{i}", spans) for i in range(SUB_PARTITIONS)]
        self.lsu, self.l2, self.dram = (Unit(self.env, n, spans) for n in ("lsu", "l2", "dram"))

    @property
    def units(self) -> list[Unit]:
        """All of them, sub-partitions first."""
        return [*self.pipes, self.lsu, self.l2, self.dram]

    def block_done(self, resident: int, least: int) -> None:
        """Count a block; fire ``steady`` once ``least`` rounds are over and take equal time."""
        self.finished += 1
        if self.finished % resident:
            return
        self.rounds.append(float(self.env.now))
        last = [b - a for a, b in pairwise(self.rounds[-_ROUNDS - 1 :])]
        even = len(last) == _ROUNDS and max(last) - min(last) <= _STEADY * max(last)
        enough = len(self.rounds) >= least and even
        if not self.steady.triggered and (enough or len(self.rounds) >= _MOST_ROUNDS):
            self.steady.succeed()


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


def run_sm(program: Program, *, recording: bool = False, detect: bool = False) -> tuple[float, Sm]:
    """Run the program's blocks; ``(clocks until the last store is written, the SM)``.

    With ``detect`` the run stops once the SM is in a steady state, and the time of the remaining
    blocks is that of the last rounds.
    """
    env = simpy.Environment()
    sm = Sm(env, recording)
    waiting = iter(range(program.blocks))
    slots = [
        env.process(_slot(sm, program, slot, waiting, detect)) for slot in range(program.resident)
    ]
    env.run(until=sm.steady | env.all_of(slots))
    if detect and sm.finished < program.blocks:
        # Rounds are fast while blocks drift apart; no unit does more than its work in the long run.
        recent = (sm.rounds[-1] - sm.rounds[-_ROUNDS - 1]) / _ROUNDS
        round_clk = max(recent, program.resident * program.busiest_clk)
        left = (program.blocks - sm.finished) / program.resident
        return float(env.now) + left * round_clk, sm
    return max([float(env.now), *(unit.free_at for unit in sm.units)]), sm


def _slot(sm: Sm, program: Program, slot: int, waiting: Iterator[int], detect: bool) -> Process:
    """A place for one block on the SM: takes the next waiting block when the last one is done."""
    least = max(_ROUNDS + 1, _PIECES // (program.steps * program.chunks))
    for _ in waiting:
        yield sm.env.timeout(program.launch_clk)
        sm.residents.append((float(sm.env.now), 1))
        block = Block(sm.env, program.workers)
        first = slot * program.workers
        run = _pipelined if program.stages > 1 else _serial
        yield sm.env.all_of(
            [sm.env.process(run(sm, program, block, first + i)) for i in range(program.workers)]
        )
        sm.residents.append((float(sm.env.now), -1))
        if detect:
            sm.block_done(program.resident, least)


def _serial(sm: Sm, program: Program, block: Block, worker: int) -> Process:
    """Stage, meet, compute; then the next step."""
    pipe = sm.pipes[worker % SUB_PARTITIONS]
    for _ in range(program.steps):
        yield from _until(sm, _fetch(sm, program, pipe))
        yield block.arrive()
        yield from _compute(sm, program, pipe)
        yield block.arrive()
    yield from _store(sm, program.epilogue, pipe)


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
    yield from _store(sm, program.epilogue, pipe)


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


def _store(sm: Sm, part: Part, pipe: Unit) -> Process:
    """Queue the results; a long queue to DRAM holds the worker."""
    done = [pipe.ask(part.pipe, "store"), sm.lsu.ask(part.lsu, "store")]
    done.append(max(sm.l2.ask(part.l2, "write"), sm.dram.ask(part.dram, "write")) - _STORE_QUEUE)
    yield from _until(sm, max(done))


def _until(sm: Sm, time: float) -> Process:
    if time > sm.env.now:
        yield sm.env.timeout(time - sm.env.now)
