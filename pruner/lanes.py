"""Looking up a chip's tables of vector lengths."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip

Table = Literal["default", "as_described"]


def lanes_field(table: Table) -> str:
    """Path of the table in the chip file."""
    return "rules.vector_lanes" if table == "default" else "rules.vector_lanes_as_described"


def allowed_lanes(chip: Chip, table: Table, dtype: str) -> NDArray[np.float64] | None:
    """Allowed vector lengths in elements, ascending; ``None`` where the dtype is not listed."""
    rules = chip.rules
    lengths = rules.vector_lanes if table == "default" else rules.vector_lanes_as_described
    found = {str(name): values for name, values in lengths.items()}.get(dtype)
    return None if not found else np.sort(np.asarray(found, dtype=np.float64))


def nearest(lanes: NDArray[np.float64], allowed: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each length the closest allowed one (the shorter of two equally close)."""
    return np.asarray(allowed[np.abs(lanes[:, None] - allowed).argmin(axis=1)])
