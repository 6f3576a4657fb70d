"""Small spaces: the kernel table of the whole sketch, evaluated once and then only looked up."""

from __future__ import annotations

from collections.abc import Callable

from hwsim.table import KernelTable
from tuner.decisions import IntMatrix
from tuner.search.space import SketchSpace

WHOLE = 65_536  # candidates up to which a sketch is kept whole: some 40 MB


class Whole:
    """Kernel tables of the decision vectors of ``space`` by ``evaluate``.

    The whole space is evaluated when as many rows have been asked for as it has: a search that
    goes on for long asks for its candidates many times over.
    """

    def __init__(self, space: SketchSpace, evaluate: Callable[[IntMatrix], KernelTable]) -> None:
        self._space, self._evaluate = space, evaluate
        self._asked = 0
        self._table: KernelTable | None = None

    def __call__(self, matrix: IntMatrix) -> KernelTable:
        """The kernel table of the candidates in a decision matrix ``(n, d)``."""
        self._asked += len(matrix)
        if self._space.size > min(WHOLE, self._asked):
            return self._evaluate(matrix)
        ranks = self._space.rank(matrix)
        if (ranks < 0).any():
            return self._evaluate(matrix)
        if self._table is None:
            self._table = self._evaluate(self._space.enumerate())
        return self._table.take_candidates(ranks)
