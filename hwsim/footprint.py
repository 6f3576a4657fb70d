"""What a block keeps in a memory scope, every copy of its buffers counted."""

from __future__ import annotations

import numpy as np

from hwsim.result import FloatColumn
from hwsim.table import KernelTable


def kept_bytes(table: KernelTable, scope: str) -> FloatColumn:
    """``(n,)`` bytes: every buffer once, and the staged ones in each further copy.

    A table that does not say which buffers are staged (``{scope}_staged_bytes``) means all of them.
    """
    once = np.asarray(table[f"{scope}_bytes"], dtype=np.float64)
    said = f"{scope}_staged_bytes" in table.columns
    staged = np.asarray(table[f"{scope}_staged_bytes"], dtype=np.float64) if said else once
    copies = np.maximum(np.asarray(table[f"{scope}_buffers"], dtype=np.float64), 1.0)
    return np.asarray(once + (copies - 1.0) * staged)
