"""Extents, footprints and strides of accesses, as columns ``(n,)``.

Everything here gives the same numbers whether a loop is one digit or several, with or without
digits of extent 1, so that both roads to a nest meet in one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tuner.nest import Access, Buffer, Digit, IntColumn, Split, Statement

BITS = {"float16": 16, "bfloat16": 16, "float32": 32, "int8": 8, "uint8": 8, "int32": 32,
        "float64": 64, "int64": 64, "bool": 8}  # fmt: skip


def product(columns: Iterable[IntColumn], n: int) -> IntColumn:
    """Product of columns; ones ``(n,)`` where there are none."""
    return np.asarray(reduce(np.multiply, columns, np.ones(n, dtype=np.int64)))


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
    return np.asarray(product(buffer.shape[:-1], n) * (buffer.shape[-1] + pad))


def uses(access: Access, digit: str) -> bool:
    """Whether an access depends on a digit."""
    maps: list[Mapping[str, IntColumn]] = [*access.dims]
    maps += [s.coefs for dim in access.splits for s in dim]
    return any(digit in m and bool(np.any(m[digit] != 0)) for m in maps)


def _splits(access: Access, dim: int) -> Sequence[Split]:
    return access.splits[dim] if access.splits else ()


def hull(access: Access, digits: Sequence[Digit], dim: int, n: int) -> IntColumn:
    """Extent of dimension ``dim`` while ``digits`` vary: largest minus smallest index plus one."""
    total: IntColumn = access.extent[dim] + _range(access.dims[dim], digits, n)
    for split in _splits(access, dim):
        steps = -(-_range(split.coefs, digits, n) // split.div)
        bounded = np.where(split.mod > 0, np.minimum(steps, split.mod - 1), steps)
        total = total + np.abs(split.scale) * bounded
    return total


def _range(coefs: Mapping[str, IntColumn], digits: Sequence[Digit], n: int) -> IntColumn:
    total = np.zeros(n, dtype=np.int64)
    for digit in digits:
        if digit.name in coefs:
            total += np.abs(coefs[digit.name]) * (digit.extent - 1)
    return total


def _step(access: Access, digits: Sequence[Digit], dim: int, n: int) -> IntColumn:
    """Greatest common divisor of the steps that ``digits`` make (1 where there are none)."""
    step = np.zeros(n, dtype=np.int64)
    for digit in digits:
        if digit.name in access.dims[dim]:
            moves = np.where(digit.extent > 1, np.abs(access.dims[dim][digit.name]), 0)
            step = np.gcd(step, moves)
    alone = (access.extent[dim] == 1) & (not _splits(access, dim))
    return np.where(alone & (step > 0), step, 1)


def touched(access: Access, digits: Sequence[Digit], dim: int, n: int) -> IntColumn:
    """Distinct indices of dimension ``dim`` while ``digits`` vary.

    The hull in steps of the greatest common divisor, never more than there are iterations: exact
    but for sums with gaps, where it is an upper bound.
    """
    span = hull(access, digits, dim, n) - 1
    steps = span // _step(access, digits, dim, n) + 1
    maps = (access.dims[dim], *(s.coefs for s in _splits(access, dim)))
    moving = [d for d in digits if any(d.name in m and np.any(m[d.name] != 0) for m in maps)]
    return np.asarray(np.minimum(steps, extents(moving, n) * access.extent[dim]))


def footprint(access: Access, digits: Sequence[Digit], buffer: Buffer, n: int) -> IntColumn:
    """Distinct elements that an access touches while ``digits`` vary, clipped to the buffer."""
    dims = range(len(access.dims))
    clipped = (np.minimum(touched(access, digits, d, n), buffer.shape[d]) for d in dims)
    return product(clipped, n)


def run(access: Access, digits: Sequence[Digit], buffer: Buffer, n: int) -> IntColumn:
    """Contiguous elements of the region that ``digits`` span: whole rows join with the next."""
    length: IntColumn = np.ones(n, dtype=np.int64)
    joins = np.ones(n, dtype=bool)
    for dim in reversed(range(len(access.dims))):
        span = np.minimum(hull(access, digits, dim, n), buffer.shape[dim])
        dense = _step(access, digits, dim, n) == 1
        length = np.where(joins, length * np.where(dense, span, access.extent[dim]), length)
        joins = joins & dense & (span == buffer.shape[dim])
    return length


def strides(buffer: Buffer, n: int) -> list[IntColumn]:
    """Row-major strides in elements, padded rows included."""
    pad = 0 if buffer.row_pad is None else buffer.row_pad
    out = [np.ones(n, dtype=np.int64)]
    for dim in reversed(range(1, len(buffer.shape))):
        padded = buffer.shape[dim] + (pad if dim == len(buffer.shape) - 1 else 0)
        out.append(out[-1] * padded)
    return out[::-1]


def address_step(access: Access, digit: Digit, buffer: Buffer, n: int) -> IntColumn:
    """Elements between the addresses of neighbouring values of a digit (absolute value)."""
    total = np.zeros(n, dtype=np.int64)
    for dim, stride in enumerate(strides(buffer, n)):
        total = total + stride * access.dims[dim].get(digit.name, 0)
        for split in _splits(access, dim):
            steps = split.coefs.get(digit.name, np.zeros(n, dtype=np.int64)) // split.div
            wrapped = np.where(split.mod > 0, steps % np.maximum(split.mod, 1), steps)
            total = total + stride * split.scale * wrapped
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
    for digit in reversed(digits):
        step, moves = address_step(access, digit, buffer, n), digit.extent > 1
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
