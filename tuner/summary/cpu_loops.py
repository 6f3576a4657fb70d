"""Which loops of a CPU kernel TVM makes parallel, vectorises and unrolls, and how far.

Before the postprocessors the nest bears their limits as notes, and what ``RewriteParallelVectorize-
Unroll`` will do follows from loops and strides (source: src/meta_schedule/postproc/
rewrite_parallel_vectorize_unroll.cc of TVM); behind them the loops bear it themselves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.nest import Access, Digit, IntColumn
from tuner.summary.geometry import address_step, extents, of_kinds, product, strides
from tuner.summary.roles import Kernel

PARALLEL, VECTORIZE = "parallel", "vectorize"  # notes of a nest, and kinds of its digits

Rows = NDArray[np.bool_]


def parallel_extent(kernel: Kernel) -> IntColumn:
    """Iterations ``(n,)`` of the loop that is dealt to the cores; 1 where there is none.

    The outermost loops that all statements share are fused while they are no reductions, up to and
    with the one that takes the product beyond the limit.
    """
    main, n = kernel.main, kernel.n
    if PARALLEL not in kernel.nest.notes:
        return extents(of_kinds(main, PARALLEL), n)
    limit, inner = kernel.nest.notes[PARALLEL], _vectorised(kernel)
    tasks = np.ones(n, dtype=np.int64)
    going = np.ones(n, dtype=bool)
    for digit, vector in zip(main.digits, inner, strict=True):
        if not _common(kernel, digit):
            break
        if digit.reduction:
            going = going & (digit.extent == 1)
        else:
            tasks = np.where(going & ~vector, tasks * digit.extent, tasks)
        going = going & (tasks <= limit)
    return tasks


def _common(kernel: Kernel, digit: Digit) -> bool:
    return all(any(d.name == digit.name for d in s.digits) for s in kernel.statements)


def vector_lanes(kernel: Kernel) -> IntColumn:
    """Extent ``(n,)`` of the vectorised loop of the main statement; 1 where there is none."""
    main, n = kernel.main, kernel.n
    if VECTORIZE not in kernel.nest.notes:
        return extents(of_kinds(main, VECTORIZE), n)
    pairs = zip(main.digits, _vectorised(kernel), strict=True)
    lanes = (np.where(vector, d.extent, 1) for d, vector in pairs)
    return product(lanes, n)


def _vectorised(kernel: Kernel) -> list[Rows]:
    """For each digit of the main statement where it becomes part of the vectorised loop, ``(n,)``.

    The innermost loops are fused while no access jumps between them and the limit allows.
    """
    main, n = kernel.main, kernel.n
    limit = kernel.nest.notes.get(VECTORIZE, np.zeros(1, dtype=np.int64))
    runs = [_Contiguous(kernel, a) for a in (*main.reads, main.write)]
    going, lanes = np.ones(n, dtype=bool), np.ones(n, dtype=np.int64)
    out: list[Rows] = []
    for digit in reversed(main.digits):
        going = going & (not digit.reduction) & _alone(kernel, digit)
        for contiguous in runs:
            going = going & contiguous.grow(digit, innermost=not out)
        going = going & (lanes * digit.extent <= limit)
        lanes = np.where(going, lanes * digit.extent, lanes)
        out.append(going)
    return out[::-1]


def _alone(kernel: Kernel, digit: Digit) -> bool:
    users = sum(any(d.name == digit.name for d in s.digits) for s in kernel.statements)
    return users == 1


class _Contiguous:
    """One access while loops are fused from the innermost on: where the next one still fits.

    A loop that does not move the access always does, the first one that moves it by single elements
    (the innermost loop by any step), each further one where it goes on where the last one ended.
    """

    def __init__(self, kernel: Kernel, access: Access) -> None:
        self._access, self._n = access, kernel.n
        self._strides = strides(kernel.buffer(access), kernel.n)
        self._next = np.zeros(kernel.n, dtype=np.int64)  # 0: no loop has moved the access yet

    def grow(self, digit: Digit, *, innermost: bool) -> Rows:
        """Whether ``(n,)`` one more loop fits."""
        step = address_step(self._access, digit, self._strides, self._n)
        moves, first = step != 0, self._next == 0
        fits = np.where(first, innermost | (step == 1), step == self._next)
        self._next = np.where(moves, step * digit.extent, self._next)
        rows: Rows = ~moves | fits
        return rows


def unrolled(kernel: Kernel, lanes: IntColumn) -> IntColumn:
    """Copies ``(n,)`` of the main statement that explicit unrolling makes.

    TVM's UnrollLoop unrolls from the innermost loop outwards, the vectorised one left out, while
    the copies stay within the annotated step (source: src/tir/transforms/unroll_loop.cc).
    """
    limit, n = kernel.nest.unroll, kernel.n
    copies, going = np.ones(n, dtype=np.int64), np.ones(n, dtype=bool)
    rest = lanes
    for digit in reversed(kernel.main.digits):
        vector = (rest > 1) & (not digit.reduction)
        rest = np.where(vector, rest // digit.extent, rest)
        going = going & (vector | (copies * digit.extent <= limit))
        copies = np.where(going & ~vector, copies * digit.extent, copies)
    return copies
