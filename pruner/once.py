"""What several rules and the gate ask for is computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from hwsim.chip import Chip
from hwsim.table import KernelTable

P = ParamSpec("P")
T = TypeVar("T")

MOST_CHIPS = 64  # that are remembered; whoever varies a chip's numbers makes hundreds


def once_a_table(
    function: Callable[Concatenate[KernelTable, P], T],
) -> Callable[Concatenate[KernelTable, P], T]:
    """``function`` of a table, whose answer the table keeps for the same further arguments.

    They are told apart by identity, and kept along with the answer, so that none can take another's
    place.  Whoever gets the answer must not write to it.
    """

    @wraps(function)
    def remembered(table: KernelTable, /, *args: P.args, **kwargs: P.kwargs) -> T:
        known: dict[Any, Any] | None = getattr(table, "known", None)
        if known is None:  # a table that records what is done with it
            return function(table, *args, **kwargs)
        key = (function, *map(id, args), *map(id, kwargs.values()))
        if key not in known:
            known[key] = (function(table, *args, **kwargs), args, kwargs)
        answer: T = known[key][0]
        return answer

    return remembered


def once_a_chip(function: Callable[[Chip], T]) -> Callable[[Chip], T]:
    """``function`` of a chip; chips hold dictionaries, and so are told apart by identity."""
    known: dict[int, tuple[T, Chip]] = {}

    @wraps(function)
    def remembered(chip: Chip) -> T:
        found = known.get(id(chip))
        if found is None:
            if len(known) >= MOST_CHIPS:
                known.clear()
            found = known[id(chip)] = function(chip), chip
        return found[0]

    return remembered
