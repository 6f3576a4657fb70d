"""Extents, footprints and strides of accesses, as columns ``(n,)``.

Everything here gives the same numbers whether a loop is one digit or several, with or without
digits of extent 1, so that both roads to a nest meet in one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tuner.nest import Access, Buffer, Digit, IntColumn, Split, Statement
from tuner.summary.pointwise import pointwise

BITS = {"float16": 16, "bfloat16": 16, "float32": 32, "int8": 8, "uint8": 8, "int16": 16,
        "uint16": 16, "int32": 32, "uint32": 32, "float64": 64, "int64": 64, "bool": 8}  # fmt: skip


def product(columns: Iterable[IntColumn], n: int) -> IntColumn:
    """Product of columns; ones ``(n,)`` where there are none."""
    return reduce(np.multiply, columns, np.ones(n, dtype=np.int64))


def extents(digits: Iterable[Digit], n: int) -> IntColumn:
    """Product of the digits' extents."""
    return product((d.extent for d in digits), n)


def bits_of(buffer: Buffer) -> int:
    """Width of an element in bits; ``ValueError`` names an unknown dtype."""
    if buffer.dtype not in BITS:
        raise ValueError(f"buffer {buffer.name}: dtype {buffer.dtype} is not known")
    return BITS[buffer.dtype]


def element_bytes(buffer: Buffer) -> float:
    """Bytes of an element."""
    return bits_of(buffer) / 8


def elements(buffer: Buffer, n: int) -> IntColumn:
    """Allocated elements, the padding of rows included."""
    if not buffer.shape:
        return np.ones(n, dtype=np.int64)
    pad = 0 if buffer.row_pad is None else buffer.row_pad
    return product(buffer.shape[:-1], n) * (buffer.shape[-1] + pad)


def moves(access: Access, digit: str, n: int) -> NDArray[np.bool_]:
    """The rows in which an access depends on a digit."""
    found = (
        _moves(dim, access.splits[i] if access.splits else (), digit)
        for i, dim in enumerate(access.dims)
    )
    return reduce(np.logical_or, (m for ms in found for m in ms), np.zeros(n, dtype=bool))


def _moves(
    coefs: Mapping[str, IntColumn], splits: Iterable[Split], digit: str
) -> Iterator[NDArray[np.bool_]]:
    if digit in coefs:
        yield coefs[digit] != 0
    for s in splits:
        if digit in s.coefs:
            yield (s.coefs[digit] != 0) & (s.scale != 0)


def quasi_affine(access: Access, n: int) -> NDArray[np.bool_]:
    """Where an access has quotients; the splits of a row where it has none have scale 0."""
    return _any_split((s for dim in access.splits for s in dim), n)


def _any_split(splits: Iterable[Split], n: int) -> NDArray[np.bool_]:
    return reduce(np.logical_or, (s.scale != 0 for s in splits), np.zeros(n, dtype=bool))


@dataclass
class Dimension:
    """One dimension of an access while more and more digits vary.

    ``span``: largest minus smallest index; ``step``: greatest common divisor of the moves (0: none
    yet); ``iterations``: product of the extents of the digits that move it.
    """

    access: Access
    dim: int
    n: int

    def __post_init__(self) -> None:
        self.span: IntColumn = np.zeros(self.n, dtype=np.int64)
        self.step: IntColumn = np.zeros(self.n, dtype=np.int64)
        self.iterations: IntColumn = np.ones(self.n, dtype=np.int64)
        splits = self.access.splits[self.dim] if self.access.splits else ()
        self._splits = splits
        self._inner = [np.zeros(self.n, dtype=np.int64) for _ in splits]
        self._wide = (self.access.extent[self.dim] != 1) | _any_split(splits, self.n)
        self._movers = {*self.access.dims[self.dim], *(d for s in splits for d in s.coefs)}

    def grow(self, digit: Digit) -> bool:
        """Let one more digit vary; False where it does not move the dimension."""
        if digit.name not in self._movers:
            return False
        coefs = self.access.dims[self.dim]
        if digit.name in coefs:
            move: IntColumn = np.abs(coefs[digit.name])
            self.span = self.span + move * (digit.extent - 1)
            self.step = common_step(self.step, move, digit.extent)
        for i, split in enumerate(self._splits):
            if digit.name in split.coefs:
                span = np.abs(split.coefs[digit.name]) * (digit.extent - 1)
                self._inner[i] = self._inner[i] + span
        moving = reduce(np.logical_or, _moves(coefs, self._splits, digit.name))
        self.iterations = np.where(moving, self.iterations * digit.extent, self.iterations)
        return True

    @property
    def hull(self) -> IntColumn:
        """Largest minus smallest index plus one."""
        total = self.access.extent[self.dim] + self.span
        for split, inner in zip(self._splits, self._inner, strict=True):
            steps = -(-inner // split.div)
            bounded = np.where(split.mod > 0, np.minimum(steps, split.mod - 1), steps)
            total = total + np.abs(split.scale) * bounded
        return total

    @property
    def dense(self) -> NDArray[np.bool_]:
        """Whether neighbouring indices are touched, not every second or third one."""
        dense: NDArray[np.bool_] = self._wide | (self.step <= 1)
        return dense

    @property
    def touched(self) -> IntColumn:
        """Distinct indices: the hull in steps of ``step``, never more than there are iterations.

        Exact but for sums with gaps, where it is an upper bound.
        """
        hull = self.hull
        steps = np.where(self.dense, hull, (hull - 1) // np.maximum(self.step, 1) + 1)
        most: IntColumn = self.iterations * self.access.extent[self.dim]
        return np.minimum(steps, most)


def common_step(step: IntColumn, move: IntColumn, extent: IntColumn) -> IntColumn:
    """Greatest common divisor of the moves so far and of one more, where its digit moves at all."""
    counts = (extent > 1) & (move != 0)
    if np.all(step % np.maximum(move, 1) == 0):
        return np.where(counts, move, step)
    if np.all(move % np.maximum(step, 1) == 0):
        return np.where(counts & (step == 0), move, step)
    return _gcd(step, move, counts)


@pointwise
def _gcd(step: IntColumn, move: IntColumn, counts: NDArray[np.bool_]) -> IntColumn:
    """The divisor of step and move where the move counts; most rows have reached 1 early."""
    rows = np.flatnonzero((step != 1) & counts)
    step, move, _ = np.broadcast_arrays(step, move, counts)
    out = step.copy()
    out[rows] = np.gcd(step[rows], move[rows])
    return out


def hull(access: Access, digits: Iterable[Digit], dim: int, n: int) -> IntColumn:
    """Extent of dimension ``dim`` while ``digits`` vary."""
    dimension = Dimension(access, dim, n)
    for digit in digits:
        dimension.grow(digit)
    return dimension.hull


@dataclass
class Region:
    """What an access touches of its buffer while more and more digits vary.

    Digits may come in any order, so that one pass gives the region of some and then that of all.
    """

    access: Access
    buffer: Buffer
    n: int

    def __post_init__(self) -> None:
        self._dims = [Dimension(self.access, dim, self.n) for dim in range(len(self.access.dims))]
        self._touched: list[IntColumn | None] = [None] * len(self._dims)

    def grow(self, digits: Iterable[Digit]) -> Region:
        """Let more digits vary."""
        for digit in digits:
            for d in self._dims:
                if d.grow(digit):
                    self._touched[d.dim] = None
        return self

    @property
    def elements(self) -> IntColumn:
        """Distinct elements, clipped to the buffer."""
        for d in self._dims:
            if self._touched[d.dim] is None:
                self._touched[d.dim] = np.minimum(d.touched, self.buffer.shape[d.dim])
        return product((t for t in self._touched if t is not None), self.n)

    @property
    def run(self) -> IntColumn:
        """Contiguous elements of the region: whole rows join with the next."""
        length: IntColumn = np.ones(self.n, dtype=np.int64)
        joins = np.ones(self.n, dtype=bool)
        for d in reversed(self._dims):
            span = np.minimum(d.hull, self.buffer.shape[d.dim])
            inside = np.where(d.dense, span, self.access.extent[d.dim])
            length = np.where(joins, length * inside, length)
            joins = joins & d.dense & (span == self.buffer.shape[d.dim])
        return length


def strides(buffer: Buffer, n: int) -> list[IntColumn]:
    """Row-major strides in elements, padded rows included; none of a scalar.

    0 in a dimension of extent 1: padding may run over its edge, but what is there is not accessed.
    """
    if not buffer.shape:
        return []
    pad = 0 if buffer.row_pad is None else buffer.row_pad
    out = [np.ones(n, dtype=np.int64)]
    for dim in reversed(range(1, len(buffer.shape))):
        padded = buffer.shape[dim] + (pad if dim == len(buffer.shape) - 1 else 0)
        out.append(out[-1] * padded)
    return [np.where(e == 1, 0, s) for e, s in zip(buffer.shape, out[::-1], strict=True)]


def address_step(access: Access, digit: Digit, stride: Sequence[IntColumn], n: int) -> IntColumn:
    """Elements between the addresses of neighbouring values of a digit (absolute value).

    ``stride``: the :func:`strides` of the buffer.
    """
    total = np.zeros(n, dtype=np.int64)
    for dim, coefs in enumerate(access.dims):
        if digit.name in coefs:
            total = total + stride[dim] * coefs[digit.name]
        for split in access.splits[dim] if access.splits else ():
            if digit.name in split.coefs:
                steps = split.coefs[digit.name] // split.div
                wrapped = np.where(split.mod > 0, steps % np.maximum(split.mod, 1), steps)
                total = total + stride[dim] * split.scale * wrapped
    return np.abs(total)


@dataclass(frozen=True)
class Walk:
    """A walk over digits, fastest first, as two nested strides.

    Position ``p`` lies ``(p % run) * step1 + (p // run) * step2`` elements from the base.
    """

    run: IntColumn
    step1: IntColumn
    step2: IntColumn


def walk(access: Access, digits: Sequence[Digit], buffer: Buffer, n: int) -> Walk:
    """Walk over ``digits`` (outermost first): digits whose steps continue each other are joined."""
    length = np.ones(n, dtype=np.int64)
    step1, step2 = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    state = np.zeros(n, dtype=np.int64)  # 0: nothing yet, 1: in the fastest run, 2: beyond it
    stride = strides(buffer, n)
    for digit in reversed(digits):
        step, moves = address_step(access, digit, stride, n), digit.extent > 1
        first = moves & (state == 0)
        joined = moves & (state == 1) & (step == step1 * length)
        beyond = moves & (state == 1) & ~joined
        step1 = np.where(first, step, step1)
        length = np.where(first | joined, length * digit.extent, length)
        step2 = np.where(beyond, step, step2)
        state = np.where(first, 1, np.where(beyond, 2, state))
    return Walk(length, step1, step2)


def of_kinds(statement: Statement, *prefixes: str) -> list[Digit]:
    """The digits of a statement whose kind starts with one of the prefixes, in order."""
    return [d for d in statement.digits if d.kind.startswith(prefixes)]
