"""The memory bus as a SimPy resource that its transfers share like a fluid."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

import simpy

_TINY = 1e-9  # microseconds, and shares of a transfer: what counts as finished


@dataclass(eq=False)
class _Transfer:
    left: float  # bus time still wanted, us
    cap: float  # largest share of the bus that it can take
    weight: float
    done: simpy.Event
    share: float = 0.0


class Bus:
    """A bus whose bandwidth is divided max-min fairly among the transfers in flight.

    Memory controllers interleave requests at the grain of lines, so that concurrent transfers
    progress together; a transfer that cannot use its part (its engine or its cluster is slower)
    leaves the rest to the others.
    """

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._active: list[_Transfer] = []
        self._updated_us = 0.0
        self._wake: simpy.Event | None = None
        self.busy_us = 0.0

    def transfer(self, bus_us: float, floor_us: float, weight: float = 1.0) -> simpy.Event:
        """Start a transfer; the event fires at its end.

        ``bus_us`` is what it takes of the whole bus, ``floor_us`` the least time that its own
        engine and cluster need, ``weight`` the cores behind it.
        """
        if bus_us <= _TINY:
            return self._env.timeout(max(floor_us, bus_us))
        self._advance()
        cap = min(bus_us / floor_us, 1.0) if floor_us > 0 else 1.0
        one = _Transfer(bus_us, cap, weight, self._env.event())
        self._active.append(one)
        self._reshare()
        return one.done

    def _advance(self) -> None:
        """Progress of all transfers since the last change."""
        passed = self._env.now - self._updated_us
        self._updated_us = self._env.now
        for one in self._active:
            one.left -= passed * one.share
            self.busy_us += passed * one.share

    def _reshare(self) -> None:
        """New shares, and a wake-up when the first transfer ends with them."""
        divide(self._active)
        if self._active:
            first = min(one.left / one.share for one in self._active)
            self._wake = self._env.timeout(max(first, 0.0))
            self._wake.callbacks.append(self._on_wake)

    def _on_wake(self, event: simpy.Event) -> None:
        if event is not self._wake:  # shares have changed since
            return
        self._advance()
        tiny = max(_TINY, 4 * sys.float_info.epsilon * self._env.now)  # what the clock can tell
        ended = [one for one in self._active if one.left <= tiny * max(one.share, 1.0)]
        self._active = [one for one in self._active if one not in ended]
        self._reshare()
        for one in ended:
            one.done.succeed()


def divide(transfers: Iterable[_Transfer]) -> None:
    """Set every ``share``: max-min fair by weight under the caps (progressive filling)."""
    waiting = sorted(transfers, key=lambda one: one.cap / one.weight)
    free, weight = 1.0, sum(one.weight for one in waiting)
    for one in waiting:
        one.share = min(one.cap, free * one.weight / weight)
        free -= one.share
        weight -= one.weight
