"""The kernel table: N kernels as columns, the only thing that simulators, rules and gates read.

One row is one kernel launch.  A candidate is one or more rows (``candidate`` maps a row to its
candidate; rows of one candidate are launched one after another and their latencies add up).

Every column is declared once in :mod:`hwsim.columns`, with dtype, unit and default.  A table holds
numpy arrays of shape ``(n,)``; a column that was not given has its declared default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hwsim.columns import Column, columns_of

Array = NDArray[Any]  # int64 or float64, as the column is declared
_DTYPES = {name: np.dtype(name) for name in ("int64", "float64")}


@dataclass(frozen=True)
class KernelTable:
    """N kernels of one backend.

    Parameters
    ----------
    backend:
        ``"ascend_cube"``, ``"mlu_sram"``, ``"gpu_sm"`` or ``"cpu"``.
    n:
        Number of rows.
    columns:
        Name -> array of shape ``(n,)`` (scalars are broadcast).
    known:
        What has been computed from the columns, for those who compute it (nothing at first).

    Raises
    ------
    ValueError
        Unknown backend, unknown column, wrong length, or a value that is negative or not finite.
    """

    backend: str
    n: int
    columns: Mapping[str, Array] = field(default_factory=dict)
    known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        schema = columns_of(self.backend)
        fixed: dict[str, Array] = {}
        for name, values in self.columns.items():
            if name not in schema:
                raise ValueError(f"column {name!r}: unknown for backend {self.backend!r}")
            fixed[name] = _checked(schema[name], values, self.n)
        if "candidate" not in fixed:
            fixed["candidate"] = np.arange(self.n, dtype=np.int64)
        object.__setattr__(self, "columns", fixed)

    @classmethod
    def of(cls, backend: str, **columns: ArrayLike) -> KernelTable:
        """Build a table from keyword columns; scalars broadcast to the longest one."""
        arrays = {name: np.atleast_1d(np.asarray(v)) for name, v in columns.items()}
        n = max((len(a) for a in arrays.values()), default=0)
        return cls(backend, n, arrays)

    def __getitem__(self, name: str) -> Array:
        """Column ``name``, shape ``(n,)``; the declared default where it was not given."""
        found = self.columns.get(name)
        if found is not None:
            return found
        schema = columns_of(self.backend)
        if name not in schema:
            raise KeyError(f"column {name!r}: unknown for backend {self.backend!r}")
        column = schema[name]
        return np.full(self.n, column.default, dtype=column.dtype)

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    @property
    def n_candidates(self) -> int:
        """Number of candidates (``candidate`` is 0..n_candidates-1, ascending)."""
        ids = self.columns["candidate"]
        return int(ids[-1]) + 1 if self.n else 0

    def take(self, rows: ArrayLike) -> KernelTable:
        """The rows named by an index array or a boolean mask; ``candidate`` is kept as it is."""
        index = np.asarray(rows)
        if index.dtype == bool:
            index = np.flatnonzero(index)
        columns = {name: values[index] for name, values in self.columns.items()}
        return self._of_checked(self.backend, len(index), columns)

    def take_candidates(self, candidates: ArrayLike) -> KernelTable:
        """The rows of the given candidates in the given order, renumbered from 0."""
        wanted = np.asarray(candidates)
        if wanted.dtype == bool:
            wanted = np.flatnonzero(wanted)
        ids = self.columns["candidate"]
        if self.n_candidates == self.n:  # each is one row
            columns = {name: values[wanted] for name, values in self.columns.items()}
            columns["candidate"] = np.arange(len(wanted), dtype=np.int64)
            return self._of_checked(self.backend, len(wanted), columns)
        starts = np.searchsorted(ids, wanted, side="left")
        counts = np.searchsorted(ids, wanted, side="right") - starts
        ramp = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = np.repeat(starts, counts) + ramp
        columns = {name: values[rows] for name, values in self.columns.items()}
        columns["candidate"] = np.repeat(np.arange(len(wanted), dtype=np.int64), counts)
        return self._of_checked(self.backend, len(rows), columns)

    def frozen(self) -> KernelTable:
        """The same table with columns that refuse to be written to."""
        views = {name: values.view() for name, values in self.columns.items()}
        for view in views.values():
            view.flags.writeable = False
        return self._of_checked(self.backend, self.n, views)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled is what was given, not what is known of it."""
        return self._of_checked, (self.backend, self.n, self.columns)

    def anew(self) -> KernelTable:
        """The same columns, of which nothing is known yet."""
        return self._of_checked(self.backend, self.n, self.columns)

    @classmethod
    def _of_checked(cls, backend: str, n: int, columns: Mapping[str, Array]) -> KernelTable:
        """A table of columns that come from tables, and so need no second look."""
        table = object.__new__(cls)
        vars(table).update(backend=backend, n=n, columns=columns, known={})
        return table

    def per_candidate(self, values: ArrayLike, how: np.ufunc = np.add) -> Array:
        """Reduce a row column ``(n,)`` to candidates ``(n_candidates,)`` with a ufunc."""
        row_values = np.asarray(values)
        starts = self.starts
        return row_values if starts is None else np.asarray(how.reduceat(row_values, starts))

    @property
    def starts(self) -> Array | None:
        """First row of each candidate, int64; ``None`` where every row is one."""
        if self.n_candidates == self.n:
            return None
        ids = self.columns["candidate"]
        return np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])

    @classmethod
    def concat(cls, tables: Sequence[KernelTable]) -> KernelTable:
        """Stack tables of one backend; candidates are renumbered to stay distinct."""
        if not tables:
            raise ValueError("concat: no table given")
        backend = tables[0].backend
        if any(t.backend != backend for t in tables):
            raise ValueError("concat: tables of different backends")
        if len(tables) == 1:
            return tables[0].anew()
        names = dict.fromkeys(name for t in tables for name in t.columns)
        columns = {name: np.concatenate([t[name] for t in tables]) for name in names}
        offsets = np.cumsum([0] + [t.n_candidates for t in tables[:-1]])
        ids = [t.columns["candidate"] + o for t, o in zip(tables, offsets, strict=True)]
        columns["candidate"] = np.concatenate(ids)
        return cls._of_checked(backend, sum(t.n for t in tables), columns)

    def row(self, i: int) -> dict[str, float | int]:
        """All declared columns of row ``i`` as Python numbers."""
        return {name: self[name][i].item() for name in columns_of(self.backend)}


def _checked(column: Column, values: ArrayLike, n: int) -> Array:
    array = np.asarray(values)
    if n == 1 and array.size == 1 and array.ndim < 2 and 0 <= (value := array.item()) < np.inf:
        # what follows for one number, in a tenth of the time
        fits = array.dtype == _DTYPES[column.dtype] and array.ndim
        return array if fits else np.array((value,), column.dtype)
    if array.shape != (n,) and array.shape in ((), (1,)):
        array = np.broadcast_to(array.reshape(()), (n,))
    if array.shape != (n,):
        raise ValueError(f"column {column.name!r}: shape {array.shape}, expected ({n},)")
    if array.dtype.kind == "f" and not np.isfinite(array.sum()) and not np.isfinite(array).all():
        raise ValueError(f"column {column.name!r}: not finite")
    if n and array.min() < 0:
        raise ValueError(f"column {column.name!r}: {array.min()} is negative")
    return np.ascontiguousarray(array, dtype=column.dtype)
