"""What a discrete-event model answers for one kernel; the same for all backends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hwsim.result import Failure
from hwsim.timeline import Level, Span


@dataclass(frozen=True)
class DesResult:
    """One kernel by discrete events.

    Parameters
    ----------
    latency_us:
        ``inf`` for a failure; ``failure`` says why.
    busy_us:
        Busy time of each unit of the busiest core (Ascend: the pipes of one block; MLU: the
        engines of a core and the chip's bus; GPU: the units and sub-partitions of an SM).
    error_bound:
        Relative bound on what shortening a long kernel can cost; 0 where it was simulated whole.
    timeline, levels:
        Spans of the units and slots in use, of the part that was simulated; empty unless asked for.
    """

    latency_us: float
    failure: Failure
    busy_us: Mapping[str, float] = field(default_factory=dict)
    error_bound: float = 0.0
    timeline: tuple[Span, ...] = ()
    levels: tuple[Level, ...] = ()

    @property
    def extrapolated(self) -> bool:
        """Whether the kernel was too long to be simulated whole."""
        return self.error_bound > 0
