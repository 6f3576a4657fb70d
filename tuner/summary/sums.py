"""The sums of a kernel: what its integer accumulators may have to hold, how its floats round.

Statement by statement, through every buffer in between: partial sums of a split or factored
reduction, the sum of those, copies, what an epilogue adds.  An input that is as wide as the
accumulator it is added to (an int32 bias) is assumed to leave the room that the sum before it
needs: at its full range no schedule could add anything to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add, or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pruner.safety.ranges import Interval, is_integer, width
from pruner.safety.rounding import UNIT_ROUNDOFF, is_float, rounding
from tuner.nest import IntColumn, Nest, Statement
from tuner.summary.geometry import extents

Floats = NDArray[np.float64]
Columns = dict[str, NDArray[Any]]

WIDE_BITS = 32  # inputs of this width are biases and indices, not operands at full range


def sums(nest: Nest, statements: Sequence[Statement]) -> Columns:
    """``sum_*`` columns of the kernel with those statements; values come from earlier ones, too."""
    found, own = _Sums(nest), set(map(id, statements))
    for s in (s for kernel in nest.kernels for s in kernel):
        found.visit(s, counts=id(s) in own)
    return {
        "sum_need_bits": found.need,
        "sum_bits": found.have,
        "sum_unbounded": np.full(nest.n, found.unbounded, dtype=np.int64),
        "sum_rounding": found.chain,
    }


@dataclass
class _Sums:
    """What is known so far: a value range by integer buffer, ``k u`` by float buffer.

    ``wide``: wide inputs and copies of them, whose range stands as zero.
    """

    nest: Nest
    ranges: dict[str, Interval | None] = field(default_factory=dict)
    wide: set[str] = field(default_factory=set)
    rounded: dict[str, Floats] = field(default_factory=dict)
    unbounded: bool = False

    def __post_init__(self) -> None:
        n = self.nest.n
        self.need, self.have = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.chain = np.zeros(n)
        self._zero = Interval(np.zeros(n), np.zeros(n))

    def visit(self, s: Statement, *, counts: bool) -> None:
        """Follow the values through one statement; ``counts``: its sums belong to the kernel."""
        dtype = self.nest.buffers[s.write.buffer].dtype
        if not s.reads:
            return
        if is_integer(dtype):
            self._integer(s, dtype, counts)
        elif is_float(dtype):
            self._float(s, dtype, counts)

    def _terms(self, s: Statement) -> IntColumn:
        """Elements that one accumulator sums; padding is zeros and adds nothing."""
        inner = s.intrin[2] if s.intrin else 1
        terms = extents((d for d in s.digits if d.reduction), self.nest.n) * inner
        useful = self.nest.reduction
        return np.minimum(terms, useful) if s.ops.macs and useful else terms

    def _integer(self, s: Statement, dtype: str, counts: bool) -> None:
        found = self._range(s)
        self.ranges[s.write.buffer] = found
        if found is None:
            self.unbounded |= counts
        elif counts and (s.ops.macs or s.ops.effect in ("sum", "add")):
            self._claim(found, dtype)
            if s.ops.macs and is_integer(s.ops.term):
                self._claim(self._product(s), s.ops.term)

    def _range(self, s: Statement) -> Interval | None:
        """The range of what is written; None: not known."""
        read = [self._read(a.buffer) for a in s.reads]
        known = [r for r in read if r is not None]
        wide = [a.buffer in self.wide for a in s.reads]
        if len(known) < len(read) or not known:
            return None
        if s.ops.macs:
            return None if any(wide) else self._product(s).summed(self._terms(s))
        if s.ops.effect == "sum":
            return None if any(wide) else known[0].summed(self._terms(s))
        if s.ops.effect not in ("add", "select"):
            return None
        if all(wide):
            self.wide.add(s.write.buffer)
        return reduce(add if s.ops.effect == "add" else or_, known, self._zero)

    def _product(self, s: Statement) -> Interval:
        a, b = (self._read(x.buffer) or self._zero for x in s.reads[:2])
        return a * b

    def _read(self, buffer: str) -> Interval | None:
        if buffer in self.ranges:
            return self.ranges[buffer]
        dtype = self.nest.buffers[buffer].dtype
        if not is_integer(dtype):
            return None
        if width(dtype) >= WIDE_BITS:
            self.wide.add(buffer)
            return self._zero
        return Interval.of_dtype(dtype, self.nest.n)

    def _claim(self, found: Interval, dtype: str) -> None:
        """Remember the sum that lacks most bits, or has fewest to spare."""
        need, have = found.bits(dtype), width(dtype)
        tighter = (self.have == 0) | (need - have > self.need - self.have)
        self.need = np.where(tighter, need, self.need)
        self.have = np.where(tighter, have, self.have)

    def _float(self, s: Statement, dtype: str, counts: bool) -> None:
        before = [self.rounded[a.buffer] for a in s.reads if a.buffer in self.rounded]
        chain = reduce(np.maximum, before, np.zeros(self.nest.n))
        if s.ops.macs or s.ops.effect in ("sum", "total"):
            chain = chain + rounding(self._terms(s), dtype) + _coarse_product(s, dtype)
            self.chain = np.maximum(self.chain, chain) if counts else self.chain
        self.rounded[s.write.buffer] = chain


def _coarse_product(s: Statement, dtype: str) -> float:
    """Roundoff of products that are computed in a coarser dtype than they are summed in."""
    term = UNIT_ROUNDOFF.get(s.ops.term, 0.0)
    return term if s.ops.macs and term > UNIT_ROUNDOFF[dtype] else 0.0
