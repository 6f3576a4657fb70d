"""The instruction streams of one block: what each pipe of a core does, in order."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import simpy

from hwsim.ascend_cube.costs import Costs
from hwsim.ascend_cube.pipes import Flag, Pipe, Task, levels
from hwsim.rows import Rows
from hwsim.timeline import Level, Span

CUBE_STREAMS = ("a_gm_l1", "b_gm_l1", "a_l1_l0a", "b_l1_l0b")
_L1 = {"a_l1_l0a": "a_gm_l1", "b_l1_l0b": "b_gm_l1"}


@dataclass(frozen=True)
class Load:
    """A stream in a block: ``count`` transfers into ``buffers`` slots, times of one of them."""

    count: float
    held_us: float
    hidden_us: float
    buffers: int = 1

    def merged(self, most: int) -> Load:
        """The same work in at most ``most`` transfers: where one step needs several."""
        if self.count <= most:
            return self
        return replace(self, count=most, held_us=self.held_us * self.count / most)


@dataclass(frozen=True)
class Program:
    """One block of one kernel: ``tiles`` output tiles of ``steps`` MMADs each.

    ``loads`` are the streams that feed the cube; every transfer serves the same number of
    consecutive MMADs.  The vector core works ``stages`` off, each of ``x``, ``vector_us``, ``c``
    (times of one stage); in a kernel with both, a stage follows the tile that it reads.
    """

    tiles: int
    steps: int
    loads: Mapping[str, Load]
    mmad_us: float
    mmad_cold_us: float
    fix: Load
    stages: int
    x: Load
    vector_us: float
    c: Load

    @property
    def finite(self) -> bool:
        """Whether every time is a number; sizes beyond float64 are not."""
        loads = [*self.loads.values(), self.fix, self.x, self.c]
        times = [t for load in loads for t in (load.count, load.held_us, load.hidden_us)]
        return all(math.isfinite(t) for t in (*times, self.mmad_cold_us, self.vector_us))

    def shortened(self, tiles: int, steps: int) -> Program:
        """The same pipeline with fewer tiles, or fewer MMADs in each."""
        in_tiles, in_steps = tiles / self.tiles, steps / max(self.steps, 1)
        loads = {}
        for name, load in self.loads.items():
            per_tile = load.count / self.tiles
            fewer = load.count * in_tiles * (in_steps if per_tile > 1 else 1.0)
            loads[name] = replace(load, count=max(1.0, fewer))
        stages = max(1, round(self.stages * in_tiles)) if self.stages else 0
        fix = replace(self.fix, count=self.fix.count * in_tiles)
        return replace(self, tiles=tiles, steps=steps, loads=loads, fix=fix, stages=stages)


def program_of(rows: Rows, costs: Costs, row: int) -> Program:
    """The block of row ``row``, its tables' counts as they are."""

    def load(stream: str, scope: str) -> Load:
        transfer = costs.transfers[stream]
        return Load(
            count=float(transfer.count[row]),
            held_us=float(transfer.held_us[row]),
            hidden_us=float(transfer.hidden_us[row]),
            buffers=max(1, int(rows[f"{scope}_buffers"][row])),
        )

    mmads = int(costs.mmad_count[row])
    tiles = max(1, min(int(rows["out_tiles"][row]), mmads or 2**62))
    x, c = load("x_gm_ub", "ub"), load("c_ub_gm", "ub")
    work = float(costs.vector_count[row] * costs.vector_us[row])
    stages = int(costs.vector_stages[row])
    if not mmads:
        tiles = max(1, stages)
    scopes = {"a_gm_l1": "l1", "b_gm_l1": "l1", "a_l1_l0a": "l0a", "b_l1_l0b": "l0b"}
    return Program(
        tiles=tiles,
        steps=round(mmads / tiles),
        loads={s: load(s, scope) for s, scope in scopes.items()} if mmads else {},
        mmad_us=float(costs.mmad_us[row]),
        mmad_cold_us=float(costs.mmad_cold_us[row]),
        fix=load("c_l0c_gm", "l0c"),
        stages=stages,
        x=_of_stage(x, stages),
        vector_us=work / max(stages, 1),
        c=_of_stage(c, stages),
    )


def _of_stage(load: Load, stages: int) -> Load:
    return replace(load, count=stages, held_us=load.held_us * load.count / max(stages, 1))


@dataclass(frozen=True)
class Run:
    """What the queues did: time of the block, busy times by pipe, spans, slots in use."""

    block_us: float
    busy_us: Mapping[str, float]
    spans: tuple[Span, ...]
    levels: tuple[Level, ...]


def run_block(program: Program) -> Run:
    """The program, event by event."""
    env = simpy.Environment()
    fixed = Flag(env)
    queues: dict[str, Iterator[Task]] = {}
    feeds: dict[str, _Feed] = {}
    if program.steps:
        total = program.tiles * program.steps
        feeds = {
            name: _Feed(env, load.merged(total), total) for name, load in program.loads.items()
        }
        queues |= _cube_queues(program, env, feeds, fixed)
    if program.stages:
        queues |= _vector_queues(program, env, fixed)
    pipes = {name: Pipe(name, env) for name in queues}
    for name, tasks in queues.items():
        env.process(pipes[name].run(tasks))
    env.run()
    return Run(
        block_us=env.now,
        busy_us={name: pipe.busy_us for name, pipe in pipes.items()},
        spans=tuple(span for pipe in pipes.values() for span in pipe.spans),
        levels=tuple(u for name, f in feeds.items() for u in levels(name, f.taken, f.freed)),
    )


def _cube_queues(
    program: Program, env: simpy.Environment, feeds: Mapping[str, _Feed], fixed: Flag
) -> dict[str, Iterator[Task]]:
    made, drained = Flag(env), Flag(env)
    total = program.tiles * program.steps
    return {
        "mte2": _mte2(feeds),
        "mte1": _mte1(feeds, total),
        "mac": _mac(program, feeds, made, drained),
        "fix": _fix(program, made, drained, fixed),
    }


class _Feed:
    """A stream of the cube: its slots, and which MMADs each transfer serves."""

    def __init__(self, env: simpy.Environment, load: Load, total: int) -> None:
        self.load = load
        self.count = max(1, round(load.count))
        self.total = total
        self.taken, self.ready, self.freed = Flag(env), Flag(env), Flag(env)

    def of(self, step: int) -> int:
        """Index of the transfer that serves MMAD ``step``."""
        return step * self.count // self.total

    def starts(self, step: int) -> bool:
        """Whether MMAD ``step`` is the first that its transfer serves."""
        return step == 0 or self.of(step) != self.of(step - 1)

    def ends(self, step: int) -> bool:
        """Whether MMAD ``step`` is the last that its transfer serves."""
        return step + 1 == self.total or self.of(step) != self.of(step + 1)

    def first(self, index: int) -> int:
        """The first MMAD that transfer ``index`` serves."""
        return -(-index * self.total // self.count)

    def issue_order(self, rank: int) -> Iterator[tuple[int, int, int, int]]:
        """``(step, first use, rank, index)`` of each transfer: ``step`` finds its slot free."""
        for index in range(self.count if self.load.held_us > 0 else 0):
            free = max(0, index - self.load.buffers + 1)
            yield self.first(free), self.first(index), rank, index

    def slot(self, index: int) -> tuple[tuple[Flag, int], ...]:
        """What transfer ``index`` waits for to have a free slot."""
        need = index - self.load.buffers + 1
        return ((self.freed, need),) if need > 0 else ()


def _mte2(feeds: Mapping[str, _Feed]) -> Iterator[Task]:
    """L1 loads in program order: each is issued as soon as its slot can be free, as prefetch does.

    The queue is in order: a load that waits for its slot holds those behind it.
    """
    names = ("b_gm_l1", "a_gm_l1")  # in this order where both are due
    for _, _, rank, index in heapq.merge(*(feeds[n].issue_order(r) for r, n in enumerate(names))):
        name = names[rank]
        feed = feeds[name]
        load, slot = feed.load, feed.slot(index)
        yield Task(name, load.held_us, slot, (feed.ready,), (feed.taken,), load.hidden_us)


def _mte1(feeds: Mapping[str, _Feed], total: int) -> Iterator[Task]:
    """L0 loads; one that needs the next L1 buffer waits for it, the last user frees it."""
    for step in range(total):
        for name, source in _L1.items():
            feed, l1 = feeds[name], feeds[source]
            waits = ((l1.ready, l1.of(step) + 1),) if l1.load.held_us > 0 else ()
            freed = (l1.freed,) if l1.ends(step) else ()
            if feed.starts(step):
                slot = feed.slot(feed.of(step))
                signals = (feed.ready, *freed)
                yield Task(name, feed.load.held_us, waits + slot, signals, (feed.taken,))
            elif freed:
                yield Task(name, 0.0, waits, freed)


def _mac(program: Program, feeds: Mapping[str, _Feed], made: Flag, drained: Flag) -> Iterator[Task]:
    l0 = [feeds[name] for name in _L1]
    for step in range(program.tiles * program.steps):
        tile, within = divmod(step, program.steps)
        waits = tuple((feed.ready, feed.of(step) + 1) for feed in l0)
        free = tile - program.fix.buffers + 1
        if within == 0 and free > 0:
            waits += ((drained, free),)
        signals = tuple(feed.freed for feed in l0 if feed.ends(step))
        if within + 1 == program.steps:
            signals += (made,)
        yield Task("mmad", program.mmad_us, waits, signals, cold_us=program.mmad_cold_us)


def _fix(program: Program, made: Flag, drained: Flag, fixed: Flag) -> Iterator[Task]:
    busy_us = program.fix.held_us * program.fix.count / program.tiles
    for tile in range(program.tiles):
        yield Task("c_l0c_gm", busy_us, ((made, tile + 1),), (drained, fixed))


def _vector_queues(
    program: Program, env: simpy.Environment, fixed: Flag
) -> dict[str, Iterator[Task]]:
    """Vector core: inputs and outputs have the same number of slots."""
    loaded, read, computed, stored = (Flag(env) for _ in range(4))
    slots = program.x.buffers
    x, c = program.x, program.c

    def inputs() -> Iterator[Task]:
        for i in range(program.stages):
            waits: tuple[tuple[Flag, int], ...] = ((read, i - slots + 1),) if i >= slots else ()
            if program.steps:
                waits += ((fixed, 1 + i * program.tiles // program.stages),)
            yield Task("x_gm_ub", x.held_us, waits, (loaded,), latency_us=x.hidden_us)

    def passes() -> Iterator[Task]:
        for i in range(program.stages):
            waits = ((loaded, i + 1),) + (((stored, i - slots + 1),) if i >= slots else ())
            yield Task("vector", program.vector_us, waits, (read, computed))

    def outputs() -> Iterator[Task]:
        for i in range(program.stages):
            yield Task("c_ub_gm", c.held_us, ((computed, i + 1),), (stored,))

    return {"vec_mte2": inputs(), "vec": passes(), "mte3": outputs()}
