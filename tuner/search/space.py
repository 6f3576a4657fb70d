"""What a strategy samples from: for every sampling decision of a sketch its allowed options.

The task stage shrinks the options before the search starts, so that a strategy never draws a value
that was pruned.  A tile decision's options are factor tuples, a categorical's its indices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tuner.factors import move_factor

IntMatrix = NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """Options of one decision, ``(m, width)``; they fill columns ``start : start + width``.

    ``tile``: neighbours are tuples in which one prime factor moved from one part to another.
    """

    name: str
    start: int
    options: IntMatrix
    tile: bool

    @property
    def stop(self) -> int:
        """First column behind this decision."""
        return self.start + int(self.options.shape[1])

    def holds(self, rows: IntMatrix) -> NDArray[np.bool_]:
        """Which of ``rows`` ``(n, width)`` are among the options."""
        return self.index(rows) >= 0

    def index(self, rows: IntMatrix) -> NDArray[np.int64]:
        """``(n,)``: which option each of ``rows`` ``(n, width)`` is, -1 for none."""
        keys, wanted = _keys(self.options), _keys(rows)
        order = np.argsort(keys)
        place = np.searchsorted(keys, wanted, sorter=order)
        found = order[np.minimum(place, len(keys) - 1)]
        return np.where(keys[found] == wanted, found, -1)

    def neighbours(self, rows: IntMatrix, rng: np.random.Generator) -> IntMatrix:
        """A neighbouring allowed option for each of ``rows`` ``(n, width)``; a random one where the
        neighbour that was drawn is not allowed.
        """
        drawn = self.options[rng.integers(len(self.options), size=len(rows))]
        if not self.tile or self.options.shape[1] < 2:
            return drawn
        moved = move_factor(rows, rng)
        return np.where(self.holds(moved)[:, None], moved, drawn)


@dataclass(frozen=True)
class SketchSpace:
    """The allowed decision vectors of one sketch."""

    choices: tuple[Choice, ...]

    @property
    def width(self) -> int:
        """Columns of a decision matrix."""
        return self.choices[-1].stop if self.choices else 0

    @property
    def size(self) -> int:
        """Number of decision vectors."""
        total = 1
        for choice in self.choices:
            total *= len(choice.options)
        return total

    def sample(self, n: int, rng: np.random.Generator) -> IntMatrix:
        """``(n, width)`` decision vectors, every decision uniform over its options."""
        out = np.empty((n, self.width), dtype=np.int64)
        for c in self.choices:
            out[:, c.start : c.stop] = c.options[rng.integers(len(c.options), size=n)]
        return out

    def enumerate(self) -> IntMatrix:
        """All decision vectors, ``(size, width)``; for small spaces."""
        return self.unrank(np.arange(self.size))

    def unrank(self, ranks: NDArray[np.int64]) -> IntMatrix:
        """Decision vectors number ``ranks`` of ``0 .. size - 1``, the last decision fastest."""
        out = np.empty((len(ranks), self.width), dtype=np.int64)
        for c in reversed(self.choices):
            ranks, index = np.divmod(ranks, len(c.options))
            out[:, c.start : c.stop] = c.options[index]
        return out

    def holds(self, rows: IntMatrix) -> NDArray[np.bool_]:
        """``(n,)``: which decision vectors ``(n, width)`` are in the space."""
        inside = np.ones(len(rows), dtype=bool)
        for c in self.choices:
            inside &= c.holds(rows[:, c.start : c.stop])
        return inside

    def only(self, allowed: Mapping[str, NDArray[np.bool_]]) -> SketchSpace:
        """What is left where decisions keep only the options of a mask ``(m,)`` by their names."""
        return SketchSpace(
            tuple(
                replace(c, options=c.options[allowed[c.name]]) if c.name in allowed else c
                for c in self.choices
            )
        )

    def rank(self, rows: IntMatrix) -> NDArray[np.int64]:
        """``(n,)`` numbers of decision vectors ``(n, width)``, -1 for those outside the space."""
        out = np.zeros(len(rows), dtype=np.int64)
        for c in self.choices:
            out = out * len(c.options) + c.index(rows[:, c.start : c.stop])
        return np.where(self.holds(rows), out, -1)

    def mutate(self, rows: IntMatrix, rng: np.random.Generator) -> IntMatrix:
        """Each row with one decision replaced by a neighbour (a second one half of the time)."""
        out = rows.copy()
        open_choices = [c for c in self.choices if len(c.options) > 1]
        if not open_choices or not len(out):
            return out
        for share in (1.0, 0.5):
            which = rng.integers(len(open_choices), size=len(out))
            hit = rng.random(len(out)) < share
            for i, c in enumerate(open_choices):
                chosen = np.flatnonzero((which == i) & hit)
                if len(chosen):
                    old = out[chosen, c.start : c.stop]
                    out[chosen, c.start : c.stop] = c.neighbours(old, rng)
        return out

    def crossover(self, a: IntMatrix, b: IntMatrix, rng: np.random.Generator) -> IntMatrix:
        """Row by row a mix of two parents, whole decisions at a time."""
        out = a.copy()
        for c in self.choices:
            from_b = rng.random(len(a)) < 0.5
            out[from_b, c.start : c.stop] = b[from_b, c.start : c.stop]
        return out


@dataclass(frozen=True)
class Pool:
    """Candidates by sketch: ``matrices[s]`` is ``(n_s, width_s)``, flattened in that order."""

    matrices: tuple[IntMatrix, ...]

    def __len__(self) -> int:
        return sum(len(m) for m in self.matrices)

    def identities(self) -> list[tuple[int, bytes]]:
        """A hashable identity of each candidate, in order."""
        return [(s, row.tobytes()) for s, m in enumerate(self.matrices) for row in m]

    def sketches(self) -> NDArray[np.int64]:
        """The sketch of each candidate, in order."""
        return np.repeat(np.arange(len(self.matrices)), [len(m) for m in self.matrices])

    def locate(self, index: int) -> tuple[int, IntMatrix]:
        """``(sketch, decision row)`` of a flat index."""
        for s, m in enumerate(self.matrices):
            if index < len(m):
                return s, m[index]
            index -= len(m)
        raise IndexError("no such candidate in the pool")

    def take(self, mask: NDArray[np.bool_]) -> Pool:
        """The candidates where a flat mask is true."""
        edges = np.cumsum([len(m) for m in self.matrices])[:-1]
        parts = np.split(mask, edges)
        return Pool(tuple(m[p] for m, p in zip(self.matrices, parts, strict=True)))

    @classmethod
    def concat(cls, pools: Sequence[Pool]) -> Pool:
        """Join pools of the same sketches."""
        groups = zip(*(p.matrices for p in pools), strict=True)
        return cls(tuple(np.concatenate(group) for group in groups))


def _keys(rows: IntMatrix) -> NDArray[np.void]:
    """Each row as one value that can be sorted and compared."""
    kind = np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))
    return np.ascontiguousarray(rows).view(kind).ravel()
