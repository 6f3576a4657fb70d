"""The decision tree of a design space.

The root branches into sketches, then decision by decision in the order of the trace.  A tile
decision takes one level for each of its factors: its options are sorted, so that a prefix of
factors is a range of them, and a node is such a range.  Levels without a choice are skipped.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tuner.search.space import IntMatrix, SketchSpace

Rewards = NDArray[np.float64]


@dataclass(frozen=True)
class SortedSpace:
    """A sketch's options in lexicographic order; candidates as option indices ``(n, choices)``."""

    space: SketchSpace

    @cached_property
    def options(self) -> list[IntMatrix]:
        """Options of each decision, sorted."""
        return [c.options[np.lexsort(c.options.T[::-1])] for c in self.space.choices]

    @cached_property
    def _index(self) -> list[dict[bytes, int]]:
        return [{row.tobytes(): i for i, row in enumerate(o)} for o in self.options]

    def indices(self, row: IntMatrix) -> list[int]:
        """Option index of each decision of one decision vector."""
        parts = (row[c.start : c.stop].tobytes() for c in self.space.choices)
        return [index[part] for index, part in zip(self._index, parts, strict=True)]

    def rows(self, indices: IntMatrix) -> IntMatrix:
        """Decision vectors ``(n, width)`` of option indices ``(n, choices)``."""
        out = np.empty((len(indices), self.space.width), dtype=np.int64)
        for i, c in enumerate(self.space.choices):
            out[:, c.start : c.stop] = self.options[i][indices[:, i]]
        return out

    def branches(self, choice: int, lo: int, hi: int) -> list[tuple[int, int]]:
        """Ranges into which the first column that differs splits options ``lo : hi``."""
        part = self.options[choice][lo:hi]
        column = part[:, np.argmax((part != part[0]).any(axis=0))]
        bounds = [lo, *(lo + 1 + np.flatnonzero(np.diff(column))).tolist(), hi]
        return list(itertools.pairwise(bounds))


@dataclass
class Node:
    """Candidates of one sketch that agree in the first decisions, and share a range of the next.

    ``fixed`` are the option indices that are decided, ``lo : hi`` the range of the next decision.
    ``seen`` ``(n, choices)`` and ``rewards`` ``(n,)`` are the results below this node; they count
    as sqrt(n) ``visits``.  ``best`` is the best reward of what was met since.
    """

    space: SortedSpace
    sketch: int
    fixed: tuple[int, ...]
    lo: int
    hi: int
    seen: IntMatrix
    rewards: Rewards
    children: list[Node] | None = None
    visits: float = field(init=False)
    total: float = field(init=False)
    best: float = field(init=False)

    def __post_init__(self) -> None:
        self.visits = sqrt(len(self.rewards))
        self.total = float(self.rewards.mean()) * self.visits if self.visits else 0.0
        self.best = 0.0
        while self.hi - self.lo == 1 and not self.leaf:
            self.fixed += (self.lo,)
            self.lo, self.hi = 0, 0 if self.leaf else len(self.space.options[len(self.fixed)])

    @property
    def leaf(self) -> bool:
        """Whether every decision is made."""
        return len(self.fixed) == len(self.space.options)

    def expand(self, rng: np.random.Generator) -> list[Node]:
        """The children: those with results first, the others in random order."""
        if self.children is None:
            level = len(self.fixed)
            ranges = self.space.branches(level, self.lo, self.hi)
            self.children = [self._child(level, *ranges[i]) for i in rng.permutation(len(ranges))]
            self.children.sort(key=lambda c: c.visits == 0)
        return self.children

    def _child(self, level: int, lo: int, hi: int) -> Node:
        at = self.seen[:, level]
        below = (at >= lo) & (at < hi)
        return Node(
            self.space, self.sketch, self.fixed, lo, hi, self.seen[below], self.rewards[below]
        )

    def bounds(self) -> tuple[list[int], list[int]]:
        """Of each decision the first option index that is still open, and the end of the range."""
        level, sizes = len(self.fixed), [len(o) for o in self.space.options]
        low, high = list(self.fixed), [i + 1 for i in self.fixed]
        if not self.leaf:
            low, high = [*low, self.lo], [*high, self.hi]
        return low + [0] * len(sizes[level + 1 :]), high + sizes[level + 1 :]
