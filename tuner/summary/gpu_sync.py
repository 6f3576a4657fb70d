"""Block-wide barriers that TVM's ThreadSync and LowerThreadAllreduce put into a kernel."""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tuner.nest import Digit, IntColumn, Statement
from tuner.summary.geometry import extents
from tuner.summary.roles import Kernel, serial, threads_of

WARP = 32
_PER_SITE = 2  # one before the shared buffer is overwritten, one before it is read


def barriers(kernel: Kernel, threads: IntColumn) -> IntColumn:
    """Barriers of one block over its life.

    Neighbouring statements that fill shared memory below the same loops are one site, with two
    barriers each time it is passed.  A reduction over more threads than a warp adds two for each
    result; one within a warp shuffles.
    """
    total = np.zeros(kernel.n, dtype=np.int64)
    before: list[Digit] | None = None
    for s in kernel.statements:
        around = _around(s)
        if kernel.scope(s.write).startswith("shared"):
            passes = _PER_SITE * extents(around, kernel.n)
            total += np.where(_elsewhere(before, around), passes, 0)
            before = around
        else:
            before = None
        total += _reductions(kernel, s)
    return np.where(threads > 1, total, 0)


def _elsewhere(before: list[Digit] | None, around: list[Digit]) -> NDArray[np.bool_] | bool:
    """Where two lists of loops differ, loops of extent 1 left aside."""
    if before is None:
        return True
    both = {d.name for d in before} & {d.name for d in around}
    apart = [d.extent > 1 for d in (*before, *around) if d.name not in both]
    return reduce(np.logical_or, apart, np.zeros(1, dtype=bool))


def _around(statement: Statement) -> list[Digit]:
    """Serial loops around the part of a statement that all threads do together."""
    if statement.cooperative:
        return [d for d in statement.digits if d.kind == "serial"]
    inner = max((i for i, d in enumerate(statement.digits) if "threadIdx" in d.kind), default=-1)
    return [d for d in statement.digits[: inner + 1] if d.kind == "serial"]


def _reductions(kernel: Kernel, statement: Statement) -> IntColumn:
    across = [d for d in threads_of(statement) if d.reduction]
    wide = extents(across, kernel.n) > WARP
    results = extents([d for d in serial(statement) if not d.reduction], kernel.n)
    return np.where(wide, _PER_SITE * results, 0)
