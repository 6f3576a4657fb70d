"""One candidate through both models of its chip, with the reasons and, if wanted, the timeline."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

import numpy as np

from hwsim.backends import simulate
from hwsim.chip import Chip
from hwsim.explain import Explanation, explain
from hwsim.result import Failure
from hwsim.table import KernelTable
from hwsim.timeline import Level, Span


@dataclass(frozen=True)
class KernelSimulation:
    """One kernel: why it takes what it takes, and what the discrete-event model says.

    ``events_us`` is the latency of the discrete-event model (``inf`` for a failure), within
    ``error_bound`` of simulating every step; ``busy_us`` the busy time of its units.
    ``timeline_us`` is how much of it the timeline shows, 0 without one.
    """

    explanation: Explanation
    events_us: float
    events_failure: Failure
    error_bound: float
    busy_us: Mapping[str, float]
    timeline_us: float


@dataclass(frozen=True)
class Simulation:
    """The kernels of one candidate, one after another.

    ``spans`` and ``levels`` are the timeline of the discrete-event model, of what was simulated:
    one core from its start, one round of blocks, and of a long kernel the beginning (see
    :attr:`timeline_us`); units of the second kernel and later bear its number.
    """

    chip: str
    kernels: tuple[KernelSimulation, ...]
    spans: tuple[Span, ...] = ()
    levels: tuple[Level, ...] = ()

    @property
    def latency_us(self) -> float:
        """Latency by the analytical model; ``inf`` where a kernel fails."""
        return sum(kernel.explanation.latency_us for kernel in self.kernels)

    @property
    def events_us(self) -> float:
        """Latency by the discrete-event model; ``inf`` where a kernel fails."""
        return sum(kernel.events_us for kernel in self.kernels)

    @property
    def timeline_us(self) -> float:
        """How much of ``events_us`` the timeline shows."""
        return sum(kernel.timeline_us for kernel in self.kernels)

    def coverage(self) -> str:
        """What part of the candidate the timeline shows, in words."""
        if not math.isfinite(self.events_us):
            return "nothing: the kernel fails"
        share = self.timeline_us / self.events_us if self.events_us else 1.0
        rest = "launch, further rounds of blocks, and what of long loops is continued"
        return (
            f"{self.timeline_us:,.1f} of {self.events_us:,.1f} us ({share:.1%}); not shown: {rest}"
        )

    def lines(self) -> list[str]:
        """The simulation as lines of text."""
        out = []
        for number, kernel in enumerate(self.kernels, start=1):
            if len(self.kernels) > 1:
                out.append(f"kernel {number} of {len(self.kernels)}")
            out += kernel.explanation.lines()
        return [*out, *self._models()]

    def to_json(self) -> dict[str, Any]:
        """Plain data; a latency that is infinite is null, and ``error`` says why."""
        return {
            "chip": self.chip,
            "latency_us": _finite(self.latency_us),
            "events_us": _finite(self.events_us),
            "kernels": [_kernel_json(kernel) for kernel in self.kernels],
        }

    def _models(self) -> list[str]:
        bound = max((kernel.error_bound for kernel in self.kernels), default=0.0)
        events = f"{self.events_us:,.1f} us" if math.isfinite(self.events_us) else "fails"
        if bound:
            events += f" (long loops continued, within {bound:.1%} of every step)"
        model = f"{self.latency_us:,.1f} us" if math.isfinite(self.latency_us) else "fails"
        return [f"analytical model       {model}", f"discrete-event model   {events}"]


def simulate_both(table: KernelTable, chip: Chip, *, timeline: bool = False) -> Simulation:
    """All rows of ``table``, the kernels of one candidate, by both models.

    Raises
    ------
    ValueError
        The table was made for another backend than the chip's, or has no row.
    """
    if not len(table):
        raise ValueError("no kernel to simulate")
    result = simulate(table, chip)
    events = import_module(f"hwsim.{chip.backend}.des")
    kernels: list[KernelSimulation] = []
    spans: list[Span] = []
    levels: list[Level] = []
    start_us = 0.0
    for row in range(len(table)):
        found = events.simulate_one(table, row, chip, timeline=timeline)
        why = explain(result, table, row, chip)
        kernels.append(
            KernelSimulation(
                why,
                float(found.latency_us),
                found.failure,
                found.error_bound,
                found.busy_us,
                max((end for *_, end in found.timeline), default=0.0),
            )
        )
        prefix = f"kernel {row + 1} " if row else ""
        spans += [
            (prefix + u, what, start_us + a, start_us + b) for u, what, a, b in found.timeline
        ]
        levels += [(prefix + name, start_us + at, value) for name, at, value in found.levels]
        start_us += float(np.nan_to_num(found.latency_us, posinf=0.0))
    return Simulation(chip.name, tuple(kernels), tuple(spans), tuple(levels))


def _kernel_json(kernel: KernelSimulation) -> dict[str, Any]:
    why = asdict(kernel.explanation)
    return {
        **why,
        "latency_us": _finite(kernel.explanation.latency_us),
        "events_us": _finite(kernel.events_us),
        "events_failure": None if kernel.events_failure == 0 else kernel.events_failure.name,
        "events_error_bound": kernel.error_bound,
        "events_busy_us": dict(kernel.busy_us),
        "timeline_us": kernel.timeline_us,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
