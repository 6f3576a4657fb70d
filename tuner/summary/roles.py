"""Who is who in a kernel: the main statement, its operands, what its digits index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tuner.nest import Access, Buffer, Digit, IntColumn, Nest, Statement
from tuner.summary.geometry import moves, product

Rows = bool | NDArray[np.bool_]  # all (none), or those where the column is true


@dataclass(frozen=True)
class Kernel:
    """One launched kernel of a nest; ``grid``: kinds of the digits that count its blocks."""

    nest: Nest
    statements: tuple[Statement, ...]
    grid: tuple[str, ...] = ("blockIdx",)

    @property
    def n(self) -> int:
        """Candidates."""
        return self.nest.n

    def buffer(self, access: Access) -> Buffer:
        """The buffer of an access."""
        return self.nest.buffers[access.buffer]

    def scope(self, access: Access) -> str:
        """The memory scope of an access."""
        return self.buffer(access).scope

    @cached_property
    def main(self) -> Statement:
        """The statement that multiplies and accumulates; else the reduction, else the one with most
        operations an element; of equals the last.  No tile size enters, so that it is the same one
        for every candidate of a sketch.
        """

        def weight(i: int) -> tuple[bool, bool, int, int]:
            s = self.statements[i]
            reduces = any(d.reduction and bool(np.any(d.extent > 1)) for d in s.digits)
            return s.ops.macs > 0, reduces, s.ops.alu + s.ops.special, i

        return self.statements[max(range(len(self.statements)), key=weight)]

    @cached_property
    def on_tensor_cores(self) -> bool:
        """Whether a statement is a call of a tensor intrinsic."""
        return any(s.intrin is not None for s in self.statements)

    @cached_property
    def operands(self) -> Mapping[str, str]:
        """Buffer name -> ``"a"`` or ``"b"``: what the MAC reads, and what those are copied from."""
        labels: dict[str, str] = {}
        for s in reversed(self.statements):
            if s.ops.macs:
                for label, read in zip("ab", s.reads, strict=False):
                    labels.setdefault(read.buffer, label)
            elif s.write.buffer in labels and s.reads:
                labels.setdefault(s.reads[0].buffer, labels[s.write.buffer])
        return labels

    def label(self, access: Access) -> str:
        """``a``, ``b``, or ``x`` for every other input."""
        return self.operands.get(access.buffer, "x")

    @cached_property
    def axes(self) -> Mapping[str, Mapping[str, Rows]]:
        """Digit of the main statement -> axis -> the rows in which it indexes that axis.

        With a MAC: ``m`` moves A and C, ``n`` moves B and C, ``batch`` moves all or only C.
        Without: ``n`` moves the last of several dimensions of the output, ``m`` any other.
        """
        return {d.name: _some(self._axis(d)) for d in self.main.digits}

    def _axis(self, digit: Digit) -> dict[str, Rows]:
        if digit.reduction:
            return {"k": True}
        main, n = self.main, self.n
        if not main.ops.macs:
            last = _moves_last(main.write, digit.name, n)
            return {"n": last, "m": ~last}
        in_a, in_b = (moves(read, digit.name, n) for read in main.reads[:2])
        return {"m": in_a & ~in_b, "n": in_b & ~in_a, "batch": in_a == in_b}

    def extent(self, digits: Sequence[Digit], axis: str) -> IntColumn:
        """Product of the extents of those digits of the main statement that index ``axis``."""
        found = ((d.extent, self.axes[d.name].get(axis)) for d in digits if d.name in self.axes)
        columns = [
            e if rows is True else np.where(rows, e, 1) for e, rows in found if rows is not None
        ]
        return product(columns, self.n)

    def grid_of(self, statement: Statement) -> list[Digit]:
        """The digits of a statement that count blocks, in loop order."""
        return [d for d in statement.digits if d.kind.startswith(self.grid)]

    def shared_digits(self, other: Statement) -> list[Digit]:
        """The main statement's serial digits that ``other`` lies below, too."""
        names = {d.name for d in other.digits}
        return [d for d in serial(self.main) if d.name in names]

    def writers(self, buffer: str) -> list[Statement]:
        """Statements that write a buffer, without the main one."""
        return [s for s in self.statements if s.write.buffer == buffer and s is not self.main]

    def readers(self, buffer: str) -> list[Statement]:
        """Statements that read a buffer, without the main one."""
        return [
            s
            for s in self.statements
            if s is not self.main and any(r.buffer == buffer for r in s.reads)
        ]


def serial(statement: Statement) -> list[Digit]:
    """Digits that one thread (or core) walks one after another."""
    kinds = ("serial", "unroll", "vectorize", "parallel")
    return [d for d in statement.digits if d.kind in kinds]


def threads_of(statement: Statement) -> list[Digit]:
    """ThreadIdx digits, slowest first: z, y, x."""
    return [d for axis in "zyx" for d in statement.digits if d.kind == f"threadIdx.{axis}"]


def _some(axes: Mapping[str, Rows]) -> dict[str, Rows]:
    """Without the axes of no row, and True in place of all rows."""
    return {a: True if np.all(rows) else rows for a, rows in axes.items() if np.any(rows)}


def _moves_last(access: Access, digit: str, n: int) -> NDArray[np.bool_]:
    if len(access.dims) < 2:
        return np.zeros(n, dtype=bool)
    last = Access(access.buffer, access.dims[-1:], access.extent[-1:], access.splits[-1:])
    return moves(last, digit, n)
