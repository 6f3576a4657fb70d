"""Recipes: spaces that are small enough to be measured whole.  The catalogue is ``catalogue.toml``.

The spaces that TVM opens for a GPU hold 10^7 candidates and more, even for small shapes; a recipe
restricts some decisions to listed values and keeps the rest.  Nothing here imports TVM.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec

Values = list[int | list[int]]  # of one decision, see Recipe.only
_CATALOGUE = Path(__file__).with_name("catalogue.toml")


class OracleError(ValueError):
    """A recipe or an oracle that cannot be used; the message is one line for the user."""


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A chip, a workload, and what is left of the design space.

    Parameters
    ----------
    name:
        What ``--space`` takes; the key of its table in the catalogue.
    chip, workload:
        A chip's name and a workload's spec.
    candidates:
        How many candidates the space has.
    why:
        What it is for, in a line.
    sketches:
        Indices of the sketches that are left; none given: all.
    only:
        Decision -> the values that are left.  A categorical's or a location's values are listed as
        numbers; of a tile each part has a list of factors (an empty one allows every factor).
    """

    name: str = ""
    chip: str
    workload: str
    candidates: Annotated[int, msgspec.Meta(ge=1)]
    why: str
    sketches: list[int] = []
    only: dict[str, Values] = {}

    @property
    def restricted(self) -> bool:
        """Whether TVM's own design space holds more than this."""
        return bool(self.sketches or self.only)


@cache
def catalogue() -> dict[str, Recipe]:
    """Every recipe that ships, by name, in the order of the file."""
    found = msgspec.toml.decode(_CATALOGUE.read_bytes(), type=dict[str, Recipe])
    return {name: msgspec.structs.replace(recipe, name=name) for name, recipe in found.items()}


def recipe_named(name: str) -> Recipe:
    """The recipe of that name.

    Raises
    ------
    OracleError
        There is none; the line has the nearest name.
    """
    known = catalogue()
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "prunelab oracle lists them"
        raise OracleError(f"space {name!r}: unknown; {hint}")
    return known[name]
