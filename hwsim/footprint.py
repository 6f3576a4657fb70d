"""What a block keeps in a memory scope, every copy of its buffers counted."""

from __future__ import annotations

import numpy as np

from hwsim.result import FloatColumn
from hwsim.rows import Rows


def kept_bytes(rows: Rows, scope: str) -> FloatColumn:
    """``(n,)`` bytes: every buffer once, and the staged ones in each further copy.

    A table that does not say which buffers are staged (``{scope}_staged_bytes``) means all of them.
    """
    once = rows[f"{scope}_bytes"]
    said = f"{scope}_staged_bytes" in rows.columns
    staged = rows[f"{scope}_staged_bytes"] if said else once
    copies = np.maximum(rows[f"{scope}_buffers"], 1.0)
    return np.asarray(once + (copies - 1.0) * staged)
