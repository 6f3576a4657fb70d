"""Exhaustive search: every candidate in order, for spaces that are small."""

from __future__ import annotations

from tuner.search.numbering import Ranks
from tuner.search.space import SketchSpace
from tuner.search.strategy import SCREENED, SearchError
from tuner.search.walk import Walk

LIMIT = 1_000_000  # candidates: measuring more takes a real board weeks


class Exhaustive(Walk):
    """Proposes sketch by sketch, the last decision fastest; nothing is random or ``screened``.

    Raises
    ------
    SearchError
        The space is larger than ``LIMIT``.
    """

    name = "exhaustive"

    def __init__(
        self, spaces: tuple[SketchSpace, ...], seed: int, screened: int = SCREENED
    ) -> None:
        super().__init__(spaces)
        if self._size > LIMIT:
            raise SearchError(
                f"strategy {self.name}: {self._size:,} candidates, at most {LIMIT:,} are tried;"
                " grid spreads over any space"
            )

    def at(self, steps: Ranks) -> Ranks:
        """Step after step, in order."""
        return steps

    def step_of(self, ranks: Ranks) -> Ranks:
        """The number itself."""
        return ranks
