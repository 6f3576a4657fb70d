"""Grid search: a lattice through the whole space that gets finer for as long as the budget lasts.

The walk through the space's numbers goes on by a fixed stride, coprime to the size and near its
golden section, and wraps around.  After any number of steps the gaps between visited numbers have
at most three lengths (three-distance theorem), every value of the fastest decisions comes up
equally often, nothing is visited twice, and in the end everything is.
"""

from __future__ import annotations

from math import gcd

import numpy as np

from tuner.search.numbering import Ranks
from tuner.search.space import SketchSpace
from tuner.search.strategy import SCREENED
from tuner.search.walk import Walk

GOLDEN = (5**0.5 - 1) / 2


class Grid(Walk):
    """The seed decides where the lattice begins; nothing is ``screened``."""

    name = "grid"

    def __init__(
        self, spaces: tuple[SketchSpace, ...], seed: int, screened: int = SCREENED
    ) -> None:
        super().__init__(spaces)
        self._stride = _coprime(round(self._size * GOLDEN), self._size)
        self._inverse = pow(self._stride, -1, self._size)
        self._start = int(np.random.default_rng(seed).integers(self._size))

    def at(self, steps: Ranks) -> Ranks:
        """``start + stride * step``, modulo the size."""
        return self._modular([self._start + self._stride * s for s in steps.tolist()])

    def step_of(self, ranks: Ranks) -> Ranks:
        """``(rank - start) / stride``, modulo the size."""
        return self._modular([(r - self._start) * self._inverse for r in ranks.tolist()])

    def _modular(self, numbers: list[int]) -> Ranks:
        """Python's integers: products of two numbers of a space of 10^10 do not fit 64 bits."""
        return np.array([n % self._size for n in numbers], dtype=np.int64)


def _coprime(wanted: int, size: int) -> int:
    """The least integer from ``wanted`` on, and from 1, that shares no factor with ``size``."""
    stride = max(1, wanted)
    while gcd(stride, size) > 1:
        stride += 1
    return stride
