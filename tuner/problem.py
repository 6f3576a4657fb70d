"""One tuning problem: a workload on a chip, its sketches, and the way from a candidate to TVM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hwsim.chip import Chip
from hwsim.table import KernelTable
from tuner import spaces
from tuner.decisions import IntColumn
from tuner.search import Pool
from tuner.sketch import Sketch
from tuner.workloads import Workload


@dataclass(frozen=True)
class Lowered:
    """A replayed and postprocessed candidate, or the postprocessor that rejected it."""

    schedule: Any | None
    rejected_by: str | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """A workload on a chip and its design space."""

    workload: Workload
    chip: Chip
    sketches: tuple[Sketch, ...]
    postprocs: tuple[Any, ...]
    rejections: dict[str, str | None] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, workload: Workload, chip: Chip) -> Problem:
        """Generate the design space.

        Raises
        ------
        tuner.spaces.SpaceError
            The chip cannot run this workload; one line says why.
        """
        schedules = spaces.design_space(workload, chip)
        sketches = (Sketch.from_schedule(s, workload, chip, i) for i, s in enumerate(schedules))
        return cls(workload, chip, tuple(sketches), tuple(spaces.postprocs(chip)))

    def kernels(self, pool: Pool) -> KernelTable:
        """The kernel table of a pool's candidates, in the pool's order; nothing is replayed."""
        parts = zip(self.sketches, pool.matrices, strict=True)
        return KernelTable.concat([s.kernels(m) for s, m in parts if len(m)])

    def hashes(self, pool: Pool) -> list[str]:
        """The stable hash of each candidate of a pool."""
        parts = zip(self.sketches, pool.matrices, strict=True)
        return [s.hash(row) for s, m in parts for row in m]

    def lower(self, sketch: int, row: IntColumn) -> Lowered:
        """Replay a candidate through TVM and apply the postprocessors, TVM's verifier last."""
        schedule = self.sketches[sketch].replay(row)
        schedule.enter_postproc()
        for postproc in self.postprocs:
            if not postproc.apply(schedule):
                return Lowered(None, type(postproc).__name__)
        return Lowered(schedule)

    def verify(self, candidate: str, sketch: int, row: IntColumn) -> tuple[str | None, Handle]:
        """Name of the postprocessor that rejects the candidate (None: valid), and its schedule.

        The outcome is remembered: replaying is deterministic, and the arms and seeds of a benchmark
        meet the same candidates.
        """
        handle = Handle(lambda: self.lower(sketch, row))
        if candidate not in self.rejections:
            self.rejections[candidate] = handle.lowered().rejected_by
        return self.rejections[candidate], handle


class Handle:
    """A candidate's schedule, replayed when it is first asked for."""

    def __init__(self, lower: Callable[[], Lowered]) -> None:
        self._lower = lower
        self._lowered: Lowered | None = None

    def lowered(self) -> Lowered:
        """The replayed candidate."""
        if self._lowered is None:
            self._lowered = self._lower()
        return self._lowered

    @property
    def schedule(self) -> Any:
        """The postprocessed ``tvm.s_tir.Schedule`` of a valid candidate."""
        return self.lowered().schedule
