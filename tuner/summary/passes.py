"""Vector work on a scratchpad, as passes over tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.nest import Digit, IntColumn, Statement
from tuner.summary.common import Columns
from tuner.summary.geometry import element_bytes, extents, walk
from tuner.summary.npu import loops
from tuner.summary.roles import Kernel

Floats = NDArray[Any]


@dataclass(frozen=True)
class Passes:
    """``count`` passes of one block over ``bytes`` each, ``run_bytes`` an instruction; ``(n,)``."""

    count: IntColumn
    bytes: Floats
    run_bytes: Floats


def passes_in(kernel: Kernel, scope: str) -> Iterator[Passes]:
    """The passes of the statements that touch ``scope``: one for each of their operations.

    A pass goes over the statement's own loops.  One instruction takes a run along which every
    operand lies contiguously or stays the same, and no more than a vectorised loop asks for;
    reductions, which TVM cannot vectorise, take whole runs, as the vendors' reduce instructions do.
    A result that goes off chip is dense until then.
    """
    for s in kernel.statements:
        ops = s.ops.alu + s.ops.special + s.ops.macs * (s.intrin is None)
        if ops and any(kernel.scope(a) == scope for a in (*s.reads, s.write)):
            shared, own = loops(kernel, s)
            width = max(element_bytes(kernel.buffer(a)) for a in (*s.reads, s.write))
            size, length = extents(own, kernel.n), _instruction(kernel, s, own)
            count = extents(shared, kernel.n) * ops
            yield Passes(count, size * width, length * width)


def _instruction(kernel: Kernel, s: Statement, own: Sequence[Digit]) -> IntColumn:
    """Elements that one vector instruction takes."""
    n = kernel.n
    length = extents(own, n)
    results = () if kernel.scope(s.write) == "global" else (s.write,)
    for access in (*s.reads, *results):
        path = walk(access, own, kernel.buffer(access), n)
        length = np.minimum(length, np.where(path.step1 <= 1, path.run, 1))
    if s.lanes is not None and any(d.kind == "vectorize" for d in s.digits):
        length = np.minimum(length, s.lanes)
    return np.maximum(length, 1)


def vector_columns(passes: Iterable[Passes], n: int) -> Columns:
    """``vec_*``: counts add up, bytes are the mean by passes, runs the mean by instructions."""
    count, total, instructions = (np.zeros(n) for _ in range(3))
    for p in passes:
        count += p.count
        total += p.count * p.bytes
        instructions += p.count * p.bytes / np.maximum(p.run_bytes, 1)
    return {
        "vec_count": count.astype(np.int64),
        "vec_bytes": total / np.maximum(count, 1),
        "vec_run_bytes": total / np.maximum(instructions, 1),
    }
