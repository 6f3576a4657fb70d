"""A kernel table read as float64 columns, each converted once.

Float64, because products of counts must not wrap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.columns import columns_of
from hwsim.table import KernelTable

Floats = NDArray[np.float64]
_WHOLE = slice(None)


class Rows:
    """``rows[name]`` is column ``name``, ``(n,)``, of the rows ``part`` of a table."""

    def __init__(self, table: KernelTable, part: slice = _WHOLE) -> None:
        self.n = len(range(*part.indices(table.n)))
        self._table, self._part = table, part
        self._columns: dict[str, Floats] = {}

    def __getitem__(self, name: str) -> Floats:
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = self._read(name)
        return found

    @property
    def warp_access(self) -> Any:
        """What the table answers :func:`~hwsim.gpu_sm.access.access_of` with, if it does."""
        return getattr(self._table, "warp_access", None)

    def occurs(self, name: str) -> bool:
        """Whether some row of a column that defaults to 0 is not 0."""
        given = self._table.columns.get(name)
        return given is not None and bool(np.any(given))

    def _read(self, name: str) -> Floats:
        given = self._table.columns.get(name)
        if given is None:
            default = columns_of(self._table.backend)[name].default
            return np.broadcast_to(np.float64(default), (self.n,))
        return np.asarray(given[self._part], dtype=np.float64)
