"""The open decisions of a sketch and their columns in a decision matrix.

A decision matrix is ``(n, d)`` int64, a row for each candidate.  ``sample_perfect_tile`` takes a
column for each of its factors (the first, outermost one is derived from the others),
``sample_categorical`` one with the index of its candidate, ``sample_compute_location`` one with the
location (-2 inline, -1 root, else an index into the block's possible loops).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tuner.factors import divisors, factorisations

IntColumn = NDArray[np.int64]
IntMatrix = NDArray[np.int64]


@dataclass(frozen=True)
class Decision:
    """One sampling instruction of a sketch.

    Parameters
    ----------
    name:
        Stable and readable: ``i.tile``, ``A_shared.vector``, ``unroll``.
    kind:
        Which sampling instruction it is.
    instruction:
        Its index in the trace.
    start:
        Its first column in a decision matrix.
    extent, parts, max_innermost_factor:
        Of a perfect tile: the loop's extent, number of factors, bound of the last factor.
    candidates, probabilities:
        Of a categorical: the values and how often TVM draws each.  Of a compute location: the
        locations that the block's loops allow before anything is tiled.
    only:
        Where a space is restricted: the rows of :meth:`options` that are left.
    """

    name: str
    kind: Literal["perfect_tile", "categorical", "compute_location"]
    instruction: int
    start: int
    extent: int = 0
    parts: int = 1
    max_innermost_factor: int = 0
    candidates: tuple[int, ...] = ()
    probabilities: tuple[float, ...] = ()
    only: tuple[tuple[int, ...], ...] | None = None

    @property
    def stop(self) -> int:
        """First column behind this decision."""
        return self.start + self.parts

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns."""
        if self.kind == "perfect_tile":
            return tuple(f"{self.name}[{i}]" for i in range(self.parts))
        return (self.name,)

    def options(self) -> IntMatrix:
        """Every legal value, ``(m, parts)``: factor tuples, candidate indices or locations."""
        if self.only is not None:
            return np.array(self.only, dtype=np.int64)
        if self.kind == "perfect_tile":
            return factorisations(self.extent, self.parts, self.max_innermost_factor)
        if self.kind == "categorical":
            return np.arange(len(self.candidates), dtype=np.int64)[:, None]
        return np.array(self.candidates, dtype=np.int64)[:, None]

    def value(self, row: IntColumn) -> int | list[int]:
        """What TVM's trace takes as decision for a row ``(d,)`` of a decision matrix."""
        if self.kind == "perfect_tile":
            return [int(v) for v in row[self.start : self.stop]]
        return int(row[self.start])

    def repair(self, values: IntMatrix) -> IntMatrix:
        """The nearest legal values at or below ``(n, parts)`` integers, from the last part on;
        ``only`` does not bind them.
        """
        if self.kind == "perfect_tile":
            return self._repair_tile(values)
        low, high = (0, len(self.candidates) - 1)
        if self.kind == "compute_location":
            low, high = (min(self.candidates), max(self.candidates))
        return np.clip(values, low, high)

    def _repair_tile(self, values: IntMatrix) -> IntMatrix:
        choices = divisors(self.extent)
        out = np.ones_like(values)
        rest = np.full(len(values), self.extent, dtype=np.int64)
        for part in range(self.parts - 1, 0, -1):
            bound = values[:, part]
            if part == self.parts - 1:
                bound = np.minimum(bound, self.max_innermost_factor)
            fits = (rest[:, None] % choices == 0) & (choices <= np.maximum(bound, 1)[:, None])
            out[:, part] = choices[fits.shape[1] - 1 - np.argmax(fits[:, ::-1], axis=1)]
            rest //= out[:, part]
        out[:, 0] = rest
        return out
