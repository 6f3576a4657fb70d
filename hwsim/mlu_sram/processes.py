"""A block's program as SimPy processes: far loads, near loads, compute and stores of a cluster.

Cores that start together run the same program in step, within a cluster and over clusters that
hold equally many of them, for the bus divides evenly among equals.  One set of processes stands
for all of these; on the bus they weigh as many as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import simpy

from hwsim.mlu_sram.bus import Bus
from hwsim.mlu_sram.program import Load, Program
from hwsim.timeline import Level, Span

_Events = Generator[simpy.Event, object, None]


@dataclass
class GroupRun:
    """Busy times of a core's engines, and when each of its outputs was stored."""

    busy_us: dict[str, float] = field(default_factory=lambda: {"io": 0.0, "mv": 0.0, "core": 0.0})
    ends_us: list[float] = field(default_factory=list)


@dataclass
class Recording:
    """What a timeline shows: spans of the engines, and copies of buffers in use."""

    spans: list[Span] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)


@dataclass(frozen=True)
class Group:
    """``clusters`` clusters from number ``first`` on, each with ``lanes`` blocks side by side."""

    first: int
    clusters: int
    lanes: int

    def __str__(self) -> str:
        last = self.first + self.clusters - 1
        return f"cluster {self.first}" if last == self.first else f"clusters {self.first}-{last}"


def run_group(
    env: simpy.Environment,
    bus: Bus,
    program: Program,
    group: Group,
    cluster_ratio: float,
    recording: Recording | None,
) -> GroupRun:
    """Start the processes of a group; run the environment afterwards.

    ``cluster_ratio`` is the chip's bus rate over one cluster's own limit.
    """
    return _Processes(env, bus, program, group, cluster_ratio, recording).run


class _Processes:
    """Engines, buffers and processes of one group."""

    def __init__(
        self,
        env: simpy.Environment,
        bus: Bus,
        program: Program,
        group: Group,
        cluster_ratio: float,
        recording: Recording | None,
    ) -> None:
        self.run = GroupRun()
        self._env, self._bus, self._p, self._recording = env, bus, program, recording
        self._group, self._ratio = group, cluster_ratio
        self._io, self._mv = simpy.PriorityResource(env), simpy.Resource(env)
        self._far_free = simpy.Container(env, init=program.far_slots)
        self._far_fulls: list[simpy.Container] = []
        self._out_free = simpy.Container(env, capacity=2, init=program.a_slots)
        self._fulls: list[simpy.Container] = []
        self._frees: list[tuple[str, simpy.Container]] = []
        self._used: dict[str, int] = {}
        self._start()

    def _start(self) -> None:
        p = self._p
        if p.far.us:
            self._env.process(self._fill_sram())
        if max(p.a_slots, p.b_slots) == 1:  # the program loads A, then B, then computes
            self._add_loader("NRAM and WRAM", 1, self._load_a, self._load_b)
        else:
            loaders = [("NRAM", p.a_slots, self._load_a), ("WRAM", p.b_slots, self._load_b)]
            for loader in sorted(loaders, key=lambda one: one[1]):
                self._add_loader(*loader)
        self._env.process(self._compute())

    def _add_loader(self, buffer: str, slots: int, *loads: Callable[[], _Events]) -> None:
        free, full, far = (simpy.Container(self._env, init=n) for n in (slots, 0, 0))
        self._frees.append((buffer, free))
        self._fulls.append(full)
        self._far_fulls.append(far)
        self._env.process(self._fill_core(buffer, loads, free, full, far))

    def _fill_sram(self) -> _Events:
        piece = self._p.far.scaled(1 / self._p.fars)
        for _ in range(self._p.fars):
            yield self._far_free.get(1)
            self._level("SRAM", 1)
            yield from self._transfer("load SRAM", piece, self._p.far_slots)
            for full in self._far_fulls:
                yield full.put(1)

    def _fill_core(
        self,
        buffer: str,
        loads: tuple[Callable[[], _Events], ...],
        free: simpy.Container,
        full: simpy.Container,
        far: simpy.Container,
    ) -> _Events:
        arrived = 0
        for step in range(self._p.steps):
            yield free.get(1)
            self._level(buffer, 1)
            while self._p.far.us and arrived <= step * self._p.fars // self._p.steps:
                yield far.get(1)
                arrived += 1
            for load in loads:
                yield from load()
            yield full.put(1)

    def _load_a(self) -> _Events:
        yield from self._near("A", self._p.near_a, self._p.mv_a_us, self._p.a_slots)

    def _load_b(self) -> _Events:
        yield from self._near("B", self._p.near_b, self._p.mv_b_us, self._p.b_slots)

    def _near(self, operand: str, load: Load, mv_us: float, slots: int) -> _Events:
        yield from self._transfer(f"load {operand}", load.scaled(1 / self._p.steps), slots)
        yield from self._engine(self._mv, "mv", f"move {operand}", mv_us / self._p.steps)

    def _compute(self) -> _Events:
        p = self._p
        for step in range(p.steps):
            for full in self._fulls:
                yield full.get(1)
            if p.compute_us:
                start = self._env.now
                yield self._env.timeout(p.compute_us / p.steps)
                self._log("core", "compute", start)
            ended = _boundary(step, p.outputs, p.steps)
            if ended and p.a_slots == 1:
                yield from self._store()
            for buffer, free in self._frees:
                self._level(buffer, -1)
                yield free.put(1)
            if p.far.us and _boundary(step, p.fars, p.steps):
                self._level("SRAM", -1)
                yield self._far_free.put(1)
            if ended and p.a_slots > 1:
                yield self._out_free.get(1)
                self._env.process(self._store())

    def _store(self) -> _Events:
        yield from self._transfer("store C", self._p.store.scaled(1 / self._p.outputs), 2)
        self.run.ends_us.append(self._env.now)
        if self._p.a_slots > 1:
            yield self._out_free.put(1)

    def _transfer(self, name: str, load: Load, slots: int) -> _Events:
        """One transfer by the IO engine of every core; nothing for an empty one.

        A load that the core waits for (one copy of its buffer) goes before what is fetched ahead.
        """
        if not load.us:
            return
        with self._io.request(priority=min(slots, 2)) as turn:
            yield turn
            start = self._env.now
            yield self._env.timeout(load.latency_us)
            floor_us = max(load.issue_us, load.bus_us * self._group.lanes * self._ratio)
            cores = self._group.lanes * self._group.clusters
            yield self._bus.transfer(load.bus_us * cores * self._p.bus_share, floor_us, cores)
            self._log("io", name, start)

    def _engine(self, engine: simpy.Resource, unit: str, name: str, us: float) -> _Events:
        if not us:
            return
        with engine.request() as turn:
            yield turn
            start = self._env.now
            yield self._env.timeout(us)
            self._log(unit, name, start)

    def _log(self, unit: str, name: str, start_us: float) -> None:
        self.run.busy_us[unit] += self._env.now - start_us
        if self._recording is not None:
            self._recording.spans.append((f"{self._group} {unit}", name, start_us, self._env.now))

    def _level(self, buffer: str, change: int) -> None:
        """A copy of ``buffer`` comes into use or is free again."""
        self._used[buffer] = self._used.get(buffer, 0) + change
        if self._recording is not None:
            name, used = f"{self._group} {buffer} copies in use", self._used[buffer]
            self._recording.levels.append((name, self._env.now, float(used)))


def _boundary(step: int, pieces: int, steps: int) -> bool:
    """``step`` is the last of its piece, when ``steps`` are divided into ``pieces``."""
    return (step + 1) * pieces // steps > step * pieces // steps
