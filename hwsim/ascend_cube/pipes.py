"""Instruction queues that synchronise by flags, on SimPy.

A pipe takes its tasks in order.  A task starts when its flags have counted far enough, occupies the
pipe, and raises the flags of those that wait for it: what ``set_flag`` and ``wait_flag`` do.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field

import simpy

from hwsim.timeline import Level, Span


class Flag:
    """A count that only grows and that pipes wait on; ``times_us`` has when it grew."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._waiting: list[tuple[int, simpy.Event]] = []
        self.count = 0
        self.times_us: list[float] = []

    def advance(self, _: object = None) -> None:
        """Count one more and wake who waited for that."""
        self.count += 1
        self.times_us.append(self._env.now)
        for entry in [w for w in self._waiting if w[0] <= self.count]:
            self._waiting.remove(entry)
            entry[1].succeed()

    def reached(self, count: int) -> simpy.Event:
        """An event that happens once the flag has counted to ``count``."""
        event = self._env.event()
        self._waiting.append((count, event))
        return event


@dataclass(frozen=True)
class Task:
    """One instruction of a pipe.

    It waits for ``waits`` (flag, count), raises ``takes``, lasts ``busy_us`` (``cold_us`` when the
    pipe was idle before it), and raises ``signals`` then, or ``latency_us`` later without holding
    the pipe.
    """

    name: str
    busy_us: float
    waits: tuple[tuple[Flag, int], ...] = ()
    signals: tuple[Flag, ...] = ()
    takes: tuple[Flag, ...] = ()
    latency_us: float = 0.0
    cold_us: float | None = None


@dataclass
class Pipe:
    """One queue of a core and what it did so far."""

    name: str
    env: simpy.Environment
    spans: list[Span] = field(default_factory=list)
    busy_us: float = 0.0
    ended_us: float = -1.0

    def run(self, tasks: Iterable[Task]) -> Generator[simpy.Event, None, None]:
        """The SimPy process that works the tasks off."""
        for task in tasks:
            for flag, count in task.waits:
                if flag.count < count:
                    yield flag.reached(count)
            yield from self._execute(task)

    def _execute(self, task: Task) -> Generator[simpy.Event, None, None]:
        start = self.env.now
        idle = task.cold_us is not None and start > self.ended_us
        for flag in task.takes:
            flag.advance()
        took = task.cold_us if idle and task.cold_us is not None else task.busy_us
        yield self.env.timeout(took)
        self.ended_us = self.env.now
        self.busy_us += took
        self.spans.append((self.name, task.name, start, self.env.now))
        for flag in task.signals:
            if task.latency_us > 0:
                self.env.timeout(task.latency_us).callbacks.append(flag.advance)
            else:
                flag.advance()


def levels(name: str, taken: Flag, freed: Flag) -> list[Level]:
    """Slots in use over time: one more when a transfer starts, one less when its last user ends."""
    steps = [(t, 1) for t in taken.times_us] + [(t, -1) for t in freed.times_us]
    used, out = 0, []
    for time, change in sorted(steps):
        used += change
        out.append((name, time, float(used)))
    return out
