"""A kernel table read as float64 columns, each converted once, and block of rows by block of rows.

Float64, because products of counts must not wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hwsim.columns import columns_of
from hwsim.memory import keep_freed_memory
from hwsim.result import SimResult
from hwsim.table import KernelTable

Floats = NDArray[np.float64]
_WHOLE = slice(None)
_ROWS_AT_ONCE = 16384  # or nearly: so that temporary columns stay in the processor's caches
_FEW = 1024  # rows of which looking for single numbers costs more than it saves


class Rows:
    """``rows[name]`` is column ``name`` of the rows ``part`` of a table, ``(n,)``.

    With ``singles``, columns that hold one number in the whole table are ``(1,)`` and broadcast, so
    that what follows from them alone is computed once.  ``singles`` is what parts of one table know
    of it: the number, or None for a column with several.
    """

    def __init__(
        self,
        table: KernelTable,
        part: slice = _WHOLE,
        singles: dict[str, Floats | None] | None = None,
    ) -> None:
        self.n = len(range(*part.indices(table.n)))
        self._table, self._part, self._singles = table, part, singles
        self._read: dict[str, Floats] = {}

    def __getitem__(self, name: str) -> Floats:
        found = self._read.get(name)
        if found is None:
            found = self._read[name] = self._column(name)
        return found

    def at_least_one(self, name: str) -> Floats:
        """Column ``name`` as a divisor: 1 where it is less."""
        key = f"{name} >= 1"
        if key not in self._read:
            column = self[name]  # looking takes less than copying
            self._read[key] = np.maximum(column, 1) if column.min(initial=1) < 1 else column
        return self._read[key]

    def __len__(self) -> int:
        return self.n

    @property
    def columns(self) -> Mapping[str, Any]:
        """What the table was given."""
        return self._table.columns

    @property
    def warp_access(self) -> Any:
        """What the table answers :func:`hwsim.gpu_sm.access.access_of` with, if it does."""
        return getattr(self._table, "warp_access", None)

    def occurs(self, name: str) -> bool:
        """Whether some row of a column that defaults to 0 is not 0, in the whole table."""
        if self._singles is None or len(self._table) < _FEW:
            return bool(np.any(self.columns.get(name, 0)))
        single = self._single(name)
        return single is None or bool(single[0])

    def _column(self, name: str) -> Floats:
        single = self._single(name)
        if single is not None:
            return single
        given = self.columns.get(name)
        if given is None:
            return np.broadcast_to(_default(self._table, name), (self.n,))
        return np.asarray(given[self._part], dtype=np.float64)

    def _single(self, name: str) -> Floats | None:
        known = self._singles
        if known is None:
            return None
        if name not in known:
            known[name] = _single_number(self._table, name)
        return known[name]


def total(columns: Iterable[Floats]) -> Floats:
    """Sum of columns; those that are the number 0 cost nothing."""
    summands = [c for c in columns if len(c) > 1 or c.any()]
    return reduce(np.add, summands) if summands else np.zeros(1)


def scaled(column: Floats, factor: Floats) -> Floats:
    """``column * factor``; the number 1 costs nothing."""
    return column if len(factor) == 1 and factor[0] == 1 else column * factor


def where(condition: Any, yes: ArrayLike, no: ArrayLike) -> Floats:
    """As numpy's; where the condition is one number, one of the two instead of a copy."""
    if isinstance(condition, np.ndarray) and condition.size == 1:
        return np.atleast_1d(np.asarray(yes if condition[0] else no, dtype=np.float64))
    return np.where(condition, yes, no)


def by_blocks(table: KernelTable, simulate: Callable[[Rows], SimResult]) -> SimResult:
    """The answer for a table from those for blocks of its rows.

    ``simulate`` may answer with ``(1,)`` for what is the same in all rows of a block.
    """
    keep_freed_memory()
    singles: dict[str, Floats | None] = {}
    ends = np.linspace(0, table.n, max(round(table.n / _ROWS_AT_ONCE), 1) + 1, dtype=np.int64)
    spans = [slice(*span) for span in pairwise(ends.tolist())]
    answers = (simulate(Rows(table, span, singles)) for span in spans)
    return SimResult.joined(answers, [span.stop - span.start for span in spans])


def _single_number(table: KernelTable, name: str) -> Floats | None:
    given = table.columns.get(name)
    if given is None:
        return _default(table, name).reshape(1)
    if table.n < _FEW or (given[:_FEW] != given[0]).any() or (given != given[0]).any():
        return None
    return np.asarray(given[:1], dtype=np.float64)


def _default(table: KernelTable, name: str) -> Floats:
    return np.asarray(columns_of(table.backend)[name].default, dtype=np.float64)
