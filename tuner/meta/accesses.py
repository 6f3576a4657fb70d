"""Features of accesses and buffers: what is moved, what is reused, what memory it takes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from pruner.meta.graph import SCOPES
from pruner.scopes import capacity, scopes_of
from tuner.nest import Access, Buffer, Digit, Nest, Statement

Column = NDArray[np.float64]

# TVM's scopes of tensor-core fragments, by the memory they are on another chip.
_WMMA = {"matrix_a": "l0a", "matrix_b": "l0b", "accumulator": "l0c"}
_TINY = 2.0**-20


def access_columns(
    s: Statement, access: Access, write: bool, nest: Nest, least_bytes: Column
) -> list[Column | float]:
    """Features of one access, in the order of ``NODE_FEATURES``; all ``(n,)`` or constant.

    ``least_bytes``: what the chip moves off chip in the least time of the candidate.
    """
    elements = sum((log2(e) for e in access.extent), np.zeros(nest.n))
    moving = [_moves(access, d, nest.n) for d in s.digits]
    walked = [np.where(m, log2(d.extent), 0.0) for m, d in zip(moving, s.digits, strict=True)]
    distinct = elements + sum(walked, np.zeros(nest.n))
    executions = log_extent(s.digits, nest.n)
    moved = executions + elements + float(np.log2(_bits(nest.buffers[access.buffer]) / 8))
    return [
        float(write),
        elements,
        distinct,
        executions + elements - distinct,
        _inner_reuse(s, moving, nest.n),
        _unit_run(s, access, nest.n),
        moved,
        moved - np.log2(least_bytes),
    ]


def buffer_columns(buffer: Buffer, chip: Chip, n: int) -> list[Column | float]:
    """Features of one buffer, in the order of ``NODE_FEATURES``."""
    scope = scope_of(buffer)
    bits = _bits(buffer)
    size = sum((log2(s) for s in buffer.shape), np.zeros(n)) + float(np.log2(bits / 8))
    room = capacity(chip, scope)[0] if scope in scopes_of(chip.backend) else 0.0
    share = size - np.log2(room) if room else np.full(n, np.log2(_TINY))
    pad = log2(1 if buffer.row_pad is None else 1 + buffer.row_pad)
    return [size, float(np.log2(bits)), share, pad, *(float(scope == s) for s in SCOPES)]


def scope_of(buffer: Buffer) -> str:
    """One of ``SCOPES``; ``shared.dyn`` is shared, ``wmma.matrix_a`` feeds the matrix unit's A."""
    first, _, rest = buffer.scope.partition(".")
    if first == "wmma":
        return _WMMA.get(rest, "local")
    return rest if rest in SCOPES else first


def _unit_run(s: Statement, access: Access, n: int) -> Column:
    """Logarithm of the elements next to each other that loops of unit stride walk over."""
    if not access.dims:
        return np.zeros(n)
    last, width = access.dims[-1], np.maximum(access.extent[-1], 1)
    run = log2(width)
    for d in s.digits:
        if d.name in last:
            run = run + np.where(last[d.name] <= width, log2(d.extent), 0.0)
    return run


def _inner_reuse(s: Statement, moving: Sequence[NDArray[np.bool_]], n: int) -> Column:
    """Logarithm of how often in a row the innermost loops come back to the same element."""
    reuse, still = np.zeros(n), np.ones(n, dtype=bool)
    for moves, d in reversed(list(zip(moving, s.digits, strict=True))):
        still &= ~moves | (d.extent == 1)
        reuse = reuse + np.where(still, log2(d.extent), 0.0)
    return reuse


def _moves(access: Access, d: Digit, n: int) -> NDArray[np.bool_]:
    """``(n,)`` whether another value of the loop means another element."""
    moves = np.zeros(n, dtype=bool)
    for dim in access.dims:
        if d.name in dim:
            moves |= dim[d.name] != 0
    return moves


def _bits(buffer: Buffer) -> int:
    found = re.search(r"\d+", buffer.dtype)
    return int(found[0]) if found else 8  # bool is kept in a byte


def log2(values: object) -> Column:
    """Base-2 logarithm of what is at least 1."""
    return np.log2(np.maximum(np.asarray(values, dtype=np.float64), 1.0))


def log_extent(digits: Sequence[Digit], n: int) -> Column:
    """``(n,)`` logarithm of the product of extents."""
    return sum((log2(d.extent) for d in digits), np.zeros(n))
