"""A sketch: one MetaSchedule design-space trace with its sampling decisions left open."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import tvm_ffi
from numpy.typing import NDArray
from tvm.s_tir import Schedule, Trace

from hwsim.chip import Chip
from hwsim.table import KernelTable
from tuner import tir
from tuner.columns import (
    ColumnRoad,
    LocatedRoad,
    Unsupported,
    column_road,
    located_road,
)
from tuner.columns.whole import Whole
from tuner.decisions import Decision, IntColumn, IntMatrix
from tuner.decode import decisions_of
from tuner.nest import Nest
from tuner.search.space import Choice, SketchSpace
from tuner.workloads import Workload

CHECKED = 16  # random candidates that the columns road is held to the TIR road on


class DecisionError(ValueError):
    """Decisions that TVM does not take as they are; the message names the first one."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """One design-space trace of a workload on a chip.

    Parameters
    ----------
    workload, chip:
        What is scheduled, and for what.
    index:
        Position of the sketch in its design space.
    initial:
        The unscheduled ``tvm.s_tir.Schedule``.
    trace:
        The trace; its own decisions are only an example.
    decisions:
        The open decisions in trace order.
    """

    workload: Workload
    chip: Chip
    index: int
    initial: Any = field(repr=False)
    trace: Any = field(repr=False)
    decisions: tuple[Decision, ...]

    @classmethod
    def from_schedule(cls, sch: Any, workload: Workload, chip: Chip, index: int) -> Sketch:
        """Open the decisions of a schedule that a space generator made for ``workload``."""
        initial = Schedule(workload.prim_func())
        decisions = decisions_of(initial, sch.trace)
        return cls(workload, chip, index, initial, sch.trace, decisions)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of a decision matrix, e.g. ``i.tile[2]`` or ``A_shared.vector``."""
        return tuple(name for d in self.decisions for name in d.columns)

    @property
    def width(self) -> int:
        """Number of columns of a decision matrix."""
        return self.decisions[-1].stop if self.decisions else 0

    @property
    def size(self) -> int:
        """Number of decision vectors (compute locations as if all were always available)."""
        return self.space.size

    def sample(self, rng: np.random.Generator, n: int) -> IntMatrix:
        """``(n, width)`` decision vectors, each uniform over all ``size`` of them."""
        return self.space.sample(n, rng)

    def unrank(self, ranks: NDArray[np.int64]) -> IntMatrix:
        """Decision vectors number ``ranks`` of ``0 .. size - 1``, the last decision fastest."""
        return self.space.unrank(ranks)

    def repair(self, matrix: IntMatrix) -> IntMatrix:
        """The nearest legal decision vectors of ``(n, width)`` integers.

        Tile factors shrink to divisors from the innermost on, the outermost one is recomputed.
        """
        out = np.array(matrix, dtype=np.int64)
        for d in self.decisions:
            out[:, d.start : d.stop] = d.repair(out[:, d.start : d.stop])
        return out

    def hash(self, row: IntColumn) -> str:
        """16 hex digits for a candidate: program, trace without decisions, decisions."""
        digest = hashlib.sha256(self._identity)
        digest.update(np.ascontiguousarray(row, dtype="<i8").tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def _identity(self) -> bytes:
        program = tvm_ffi.structural_hash(self.initial.mod["main"])
        return f"{program}:{Trace(self._instructions, {})}".encode()

    def replay(self, row: IntColumn) -> Any:
        """The ``tvm.s_tir.Schedule`` of a candidate, before any postprocessor.

        Raises
        ------
        DecisionError
            TVM replaced a decision, silently, by another one (a factor that does not divide).
            Compute locations are exempt: TVM moves those that the tile sizes make unavailable;
            ``row_of`` reads the true ones.
        tvm.s_tir.ScheduleError
            The decisions make an instruction of the trace illegal.
        """
        taken = {self._sampling[i]: d.value(row) for i, d in enumerate(self.decisions)}
        sch = self.initial.copy()
        Trace(self._instructions, taken).apply_to_schedule(sch, remove_postproc=False)
        self._check(row, self.row_of(sch.trace))
        return sch

    @cached_property
    def _instructions(self) -> list[Any]:
        return list(self.trace.insts)

    @cached_property
    def _sampling(self) -> list[Any]:
        return [self._instructions[d.instruction] for d in self.decisions]

    @property
    def road(self) -> Literal["columns", "tir"]:
        """How :meth:`kernels` works: over whole columns, or by replaying every candidate."""
        return "tir" if isinstance(self._columns, str) else "columns"

    @property
    def fallback_reason(self) -> str | None:
        """Why the road is ``tir``; None where it is not."""
        return self._columns if isinstance(self._columns, str) else None

    @cached_property
    def _columns(self) -> ColumnRoad | LocatedRoad | str:
        rows = self.sample(np.random.default_rng(0), CHECKED)
        about = self.initial, self._instructions, self.decisions, self.chip.backend
        try:
            if any(d.kind == "compute_location" for d in self.decisions):
                return located_road(LocatedRoad(*about, self._nest_of), rows)
            return column_road(*about, rows, self._nest_of)
        except Unsupported as reason:
            return str(reason)

    @cached_property
    def _whole(self) -> Whole:
        assert isinstance(self._columns, ColumnRoad)
        return Whole(self.space, self._columns.kernels)

    @cached_property
    def space(self) -> SketchSpace:
        """All decision vectors, as strategies sample them."""
        return SketchSpace(
            tuple(
                Choice(d.name, d.start, d.options(), d.kind == "perfect_tile")
                for d in self.decisions
            )
        )

    def _nest_of(self, row: IntColumn) -> Nest:
        return tir.nest(self.replay(row), self.workload)

    def kernels(self, matrix: IntMatrix) -> KernelTable:
        """The kernel table of the candidates in ``(n, width)`` decision vectors.

        Microseconds a candidate on the ``columns`` road, milliseconds on the ``tir`` road.

        Raises
        ------
        tuner.tir.Unsupported
            On the ``tir`` road: the scheduled program holds what the analysis cannot read.
        tvm.s_tir.ScheduleError
            On the ``tir`` road: TVM cannot replay a candidate.
        """
        backend = self.chip.backend
        if not len(matrix):
            return KernelTable(backend, 0)
        if isinstance(self._columns, ColumnRoad):
            return self._whole(matrix)
        if not isinstance(self._columns, str):
            return self._columns.kernels(matrix)
        rows = (tir.kernels(self.replay(row), self.workload, backend) for row in matrix)
        return KernelTable.concat(list(rows))

    def nest(self, matrix: IntMatrix) -> Nest:
        """The loop nest of candidates on the ``columns`` road, which :attr:`road` has to be."""
        if isinstance(self._columns, str):
            raise ValueError(f"sketch {self.index} has no columns road: {self._columns}")
        return self._columns.nest(matrix)

    def row_of(self, trace: Any) -> IntColumn:
        """The decision vector ``(width,)`` of a trace of this sketch, e.g. a database record's."""
        instructions, taken = trace.insts, trace.decisions
        out = np.empty(self.width, dtype=np.int64)
        for d in self.decisions:
            value = taken[instructions[d.instruction]]
            out[d.start : d.stop] = value if isinstance(value, int) else [int(v) for v in value]
        return out

    def _check(self, asked: IntColumn, taken: IntColumn) -> None:
        for d in self.decisions:
            want, got = asked[d.start : d.stop].tolist(), taken[d.start : d.stop].tolist()
            if want != got and d.kind != "compute_location":
                raise DecisionError(f"{d.name} = {want}: not legal, TVM would take {got}")
