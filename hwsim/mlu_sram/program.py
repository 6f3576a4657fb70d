"""A block's program as SimPy processes: far loads, near loads, compute and stores of a cluster.

Cores that start together run the same program in step, within a cluster and over clusters that
hold equally many of them, for the bus divides evenly among equals.  One set of processes stands
for all of these; on the bus they weigh as many as they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import simpy

from hwsim.mlu_sram.bus import Bus
from hwsim.mlu_sram.costs import BlockCosts
from hwsim.mlu_sram.flows import Flow

Span = tuple[str, str, float, float]  # unit, name, start_us, end_us
_Events = Generator[simpy.Event, object, None]


@dataclass(frozen=True)
class Load:
    """GDRAM traffic of a whole block: latency, issue and bus time in microseconds."""

    latency_us: float
    issue_us: float
    bus_us: float

    @classmethod
    def of(cls, flow: Flow) -> Load:
        """Row 0 of ``flow``."""
        return cls(float(flow.latency_us[0]), float(flow.issue_us[0]), float(flow.bus_us[0]))

    def scaled(self, factor: float) -> Load:
        """``factor`` of it."""
        return Load(self.latency_us * factor, self.issue_us * factor, self.bus_us * factor)

    @property
    def us(self) -> float:
        """Time of the load alone on the machine."""
        return self.latency_us + max(self.issue_us, self.bus_us)


@dataclass(frozen=True)
class Program:
    """What one block does; times are totals in microseconds, ``*_slots`` copies of a buffer.

    ``bus_share`` is the mean block's work over a full one's: what the bus sees of it.
    """

    steps: int
    fars: int
    outputs: int
    far: Load
    near_a: Load
    near_b: Load
    store: Load
    mv_a_us: float
    mv_b_us: float
    compute_us: float
    far_slots: int
    a_slots: int
    b_slots: int
    bus_share: float

    def shortened(self, outputs: int, steps: int) -> Program:
        """At most ``outputs`` outputs if there are more than ``steps`` steps, and these merged."""
        if self.steps <= steps:
            return self
        kept = min(self.outputs, outputs)
        part = kept / self.outputs
        count = min(max(round(self.steps * part), kept), max(steps, kept))
        return dataclasses.replace(
            self,
            steps=count,
            fars=min(max(round(self.fars * part), 1), count),
            outputs=kept,
            far=self.far.scaled(part),
            near_a=self.near_a.scaled(part),
            near_b=self.near_b.scaled(part),
            store=self.store.scaled(part),
            mv_a_us=self.mv_a_us * part,
            mv_b_us=self.mv_b_us * part,
            compute_us=self.compute_us * part,
        )


def program_of(costs: BlockCosts, bus_share: float) -> Program:
    """The program of row 0."""
    return Program(
        steps=int(costs.near_steps[0]),
        fars=int(costs.far_steps[0]),
        outputs=int(costs.out_steps[0]),
        far=Load.of(costs.far),
        near_a=Load.of(costs.near_a),
        near_b=Load.of(costs.near_b),
        store=Load.of(costs.store),
        mv_a_us=float(costs.mv_a_us[0]),
        mv_b_us=float(costs.mv_b_us[0]),
        compute_us=float(costs.compute_us[0]),
        far_slots=2 if costs.far_overlap[0] else 1,
        a_slots=2 if costs.a_overlap[0] else 1,
        b_slots=2 if costs.b_overlap[0] else 1,
        bus_share=bus_share,
    )


@dataclass
class GroupRun:
    """Busy times of a core's engines, and when each of its outputs was stored."""

    busy_us: dict[str, float] = field(default_factory=lambda: {"io": 0.0, "mv": 0.0, "core": 0.0})
    ends_us: list[float] = field(default_factory=list)


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
    spans: list[Span] | None,
) -> GroupRun:
    """Start the processes of a group; run the environment afterwards.

    ``cluster_ratio`` is the chip's bus rate over one cluster's own limit.
    """
    return _Processes(env, bus, program, group, cluster_ratio, spans).run


class _Processes:
    """Engines, buffers and processes of one group."""

    def __init__(
        self,
        env: simpy.Environment,
        bus: Bus,
        program: Program,
        group: Group,
        cluster_ratio: float,
        spans: list[Span] | None,
    ) -> None:
        self.run = GroupRun()
        self._env, self._bus, self._p, self._spans = env, bus, program, spans
        self._group, self._ratio = group, cluster_ratio
        self._io, self._mv = simpy.PriorityResource(env), simpy.Resource(env)
        self._far_free = simpy.Container(env, init=program.far_slots)
        self._far_fulls: list[simpy.Container] = []
        self._out_free = simpy.Container(env, capacity=2, init=program.a_slots)
        self._fulls: list[simpy.Container] = []
        self._frees: list[simpy.Container] = []
        self._start()

    def _start(self) -> None:
        p = self._p
        if p.far.us:
            self._env.process(self._fill_sram())
        a, b = (self._load_a, p.a_slots), (self._load_b, p.b_slots)
        groups = [[a], [b]] if max(p.a_slots, p.b_slots) > 1 else [[a, b]]
        groups.sort(key=lambda group: group[0][1])
        for group in groups:
            free, full, far = (simpy.Container(self._env, init=n) for n in (group[0][1], 0, 0))
            self._frees.append(free)
            self._fulls.append(full)
            self._far_fulls.append(far)
            self._env.process(self._fill_core([load for load, _ in group], free, full, far))
        self._env.process(self._compute())

    def _fill_sram(self) -> _Events:
        piece = self._p.far.scaled(1 / self._p.fars)
        for _ in range(self._p.fars):
            yield self._far_free.get(1)
            yield from self._transfer("load SRAM", piece, self._p.far_slots)
            for full in self._far_fulls:
                yield full.put(1)

    def _fill_core(
        self,
        loads: list[Callable[[], _Events]],
        free: simpy.Container,
        full: simpy.Container,
        far: simpy.Container,
    ) -> _Events:
        arrived = 0
        for step in range(self._p.steps):
            yield free.get(1)
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
            for free in self._frees:
                yield free.put(1)
            if p.far.us and _boundary(step, p.fars, p.steps):
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
        if self._spans is not None:
            self._spans.append((f"{self._group} {unit}", name, start_us, self._env.now))


def _boundary(step: int, pieces: int, steps: int) -> bool:
    """``step`` is the last of its piece, when ``steps`` are divided into ``pieces``."""
    return (step + 1) * pieces // steps > step * pieces // steps
