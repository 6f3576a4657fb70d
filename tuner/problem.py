"""One tuning problem: a workload on a chip, its sketches, and the way from a candidate to TVM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import tvm_ffi
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.rules.tvm_verifier import TvmVerifier
from pruner.task import Task
from tuner import spaces, tir
from tuner.decisions import IntColumn, IntMatrix
from tuner.describe import describe
from tuner.search import Pool
from tuner.sketch import DecisionError, Sketch
from tuner.workloads import Workload

# What replaying a candidate may raise; TVM's ScheduleError is a RuntimeError.
UNREPLAYABLE = (DecisionError, RuntimeError)
REJECTED = "TVM's own postprocessor rejects the replayed schedule"
PROBES = 16  # candidates of a sketch that are read to find out whether any can be


@dataclass(frozen=True)
class Rejection:
    """Why TVM does not take a candidate: ``by`` which postprocessor or error, and a line."""

    by: str
    reason: str


# What the columns know before anything is replayed.
_UNVERIFIED = Rejection("VerifyGPUCode", REJECTED)
_LOST = Rejection(
    "ScheduleError", "TVM does not replay the schedule: padded rows are lost track of"
)


@dataclass(frozen=True)
class Lowered:
    """A replayed and postprocessed candidate, or why there is none."""

    schedule: Any | None
    rejection: Rejection | None = None

    @property
    def rejected_by(self) -> str | None:
        """Name of what rejected the candidate."""
        return self.rejection.by if self.rejection else None


@dataclass(frozen=True, eq=False)
class Problem:
    """A workload on a chip and its design space; ``space`` names the recipe that restricts it."""

    workload: Workload
    chip: Chip
    sketches: tuple[Sketch, ...]
    postprocs: tuple[Any, ...]
    rejections: dict[str, Rejection | None] = field(default_factory=dict, repr=False)
    space: str = ""

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

    @property
    def cheap(self) -> bool:
        """Whether a kernel table costs microseconds a candidate, rather than a replay."""
        return all(sketch.road == "columns" for sketch in self.sketches)

    @property
    def label(self) -> str:
        """What stands for the space in the names of runs and in tables."""
        return self.space or self.workload.name

    @property
    def size(self) -> int:
        """Number of candidates of the design space."""
        return sum(sketch.size for sketch in self.sketches)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The sketches as the task stage sees them, in order."""
        return tuple(map(describe, self.sketches))

    @cached_property
    def program_hash(self) -> str:
        """16 hex digits that stand for the unscheduled program."""
        return f"{tvm_ffi.structural_hash(self.workload.prim_func()) & (2**64 - 1):016x}"

    def check_readable(self) -> None:
        """Refuse a program of which no candidate can be simulated, before anything is tuned.

        Raises
        ------
        tuner.spaces.SpaceError
            One line that says what cannot be read.
        """
        reason = ""
        for sketch in self.sketches:
            if sketch.road == "columns":
                return
            for row in sketch.sample(np.random.default_rng(0), PROBES):
                found = self._read_row(sketch, row)
                if isinstance(found, KernelTable):
                    return
                reason = found
        raise spaces.SpaceError(
            f"workload {self.workload.name!r} on {self.chip.name}: cannot be simulated: {reason}"
        )

    def pool(self, sketch: int, rows: IntMatrix) -> Pool:
        """Candidates ``(n, width)`` of one sketch."""
        parts = [np.empty((0, s.width), dtype=np.int64) for s in self.sketches]
        parts[sketch] = rows
        return Pool(tuple(parts))

    def kernels(self, pool: Pool) -> KernelTable:
        """The kernel table of a pool's candidates, in the pool's order; nothing is replayed where
        the sketches have the columns road.  Raises as :meth:`Sketch.kernels` does.
        """
        parts = zip(self.sketches, pool.matrices, strict=True)
        return self._joined([s.kernels(m) for s, m in parts if len(m)])

    def read(self, pool: Pool) -> tuple[KernelTable, NDArray[np.bool_]]:
        """The kernel table of those candidates that can be read, and which ones they are, ``(n,)``.

        On the columns road that is every candidate; on the other one TVM may refuse to replay a
        candidate, and a scheduled program may be more than the analysis understands.
        """
        tables: list[KernelTable] = []
        readable = [np.empty(0, dtype=bool)]
        for sketch, matrix in zip(self.sketches, pool.matrices, strict=True):
            if (whole := self._read_columns(sketch, matrix)) is not None:
                tables.append(whole)
                readable.append(np.ones(len(matrix), dtype=bool))
                continue
            found = [self._read_row(sketch, row) for row in matrix]
            tables += [t for t in found if isinstance(t, KernelTable)]
            readable.append(np.array([isinstance(t, KernelTable) for t in found], dtype=bool))
        return self._joined([t for t in tables if len(t)]), np.concatenate(readable)

    def _read_columns(self, sketch: Sketch, matrix: IntMatrix) -> KernelTable | None:
        """The table of all rows at once, None where they have to be read one by one."""
        if sketch.road != "columns":
            return None
        try:
            return sketch.kernels(matrix)
        except (tir.Unsupported, *UNREPLAYABLE):  # a loop structure off the columns road
            return None

    def _joined(self, tables: list[KernelTable]) -> KernelTable:
        return KernelTable.concat(tables) if tables else KernelTable(self.chip.backend, 0)

    def _read_row(self, sketch: Sketch, row: IntMatrix) -> KernelTable | str:
        """One candidate's table, or the line that says why there is none."""
        try:
            return sketch.kernels(row[None])
        except (tir.Unsupported, *UNREPLAYABLE) as error:
            return one_line(error)

    def hashes(self, pool: Pool) -> list[str]:
        """The stable hash of each candidate of a pool."""
        parts = zip(self.sketches, pool.matrices, strict=True)
        return [s.hash(row) for s, m in parts for row in m]

    def lower(self, sketch: int, row: IntColumn) -> Lowered:
        """Replay a candidate through TVM and apply the postprocessors, TVM's verifier last."""
        try:
            schedule = self.sketches[sketch].replay(row)
        except UNREPLAYABLE as error:
            reason = f"TVM does not replay the schedule: {one_line(error)}"
            return Lowered(None, Rejection(type(error).__name__, reason))
        schedule.enter_postproc()
        for postproc in self.postprocs:
            if not postproc.apply(schedule):
                return Lowered(None, Rejection(type(postproc).__name__, REJECTED))
        return Lowered(schedule)

    def handle(self, sketch: int, row: IntColumn) -> Handle:
        """A candidate's schedule, not replayed yet."""
        return Handle(lambda: self.lower(sketch, row))

    def rejection(self, candidate: str, handle: Handle) -> Rejection | None:
        """Why TVM rejects the replayed candidate; None: it is valid.

        The outcome is remembered: replaying is deterministic, and the arms and seeds of a benchmark
        meet the same candidates.
        """
        if candidate not in self.rejections:
            self.rejections[candidate] = handle.lowered().rejection
        return self.rejections[candidate]

    def rejects(self, table: KernelTable) -> NDArray[np.bool_]:
        """``(n_candidates,)``: what TVM would not replay or its verifier drop, to the letter."""
        rule = TvmVerifier("all")
        if self.chip.backend not in rule.backends:
            return np.zeros(table.n_candidates, dtype=bool)
        keep = rule.check(table, self.chip).keep & (table["lost_rows"] == 0)
        return ~table.per_candidate(keep, np.logical_and).astype(bool)

    def predicted(self, table: KernelTable) -> Rejection | None:
        """Why TVM will reject the one candidate of a table of the columns road, if it will."""
        if not self.rejects(table).any():
            return None
        return _LOST if table["lost_rows"].any() else _UNVERIFIED


def one_line(error: Exception) -> str:
    """The last line of a message: TVM's own begins with the program and its C++ stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].removeprefix("Error message: ") if lines else type(error).__name__


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
