"""What a network is to the tuner: workloads, how often each occurs, and what cannot be tuned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tuner.workloads import Workload, resolve


class NetworkError(ValueError):
    """A network that cannot be found or read; the message is one line for the user."""


@dataclass(frozen=True)
class Task:
    """One workload of a network; ``weight``: how many times one inference runs it."""

    workload: Workload
    weight: int


@dataclass(frozen=True)
class Untuned:
    """Part of a network that is left out of tuning, how often it occurs, and why."""

    name: str
    count: int
    reason: str


@dataclass(frozen=True)
class Network:
    """A network as its distinct tasks."""

    name: str
    tasks: tuple[Task, ...]
    untuned: tuple[Untuned, ...] = ()

    @property
    def flops(self) -> float:
        """Useful operations of one inference; a multiply-accumulate is two."""
        return sum(task.weight * task.workload.flops for task in self.tasks)

    @classmethod
    def of_specs(
        cls, name: str, specs: Iterable[str], untuned: tuple[Untuned, ...] = ()
    ) -> Network:
        """From the workload spec of every layer, in order; equal ones become one task."""
        counted = Counter(specs)
        tasks = tuple(Task(resolve(spec), weight) for spec, weight in counted.items())
        return cls(name, tasks, untuned)
