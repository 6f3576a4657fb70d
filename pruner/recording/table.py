"""A kernel table whose columns record: what a rule is given instead of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any

import numpy as np

from hwsim.columns import columns_of
from hwsim.gpu_sm.access import WIDEST_BYTES, capped
from hwsim.table import KernelTable
from pruner.recording.graph import Graph, Node, NotRecordable, kind_of
from pruner.recording.traced import Traced

_ROWS, _CANDIDATES = 5, 3  # lengths of recorded columns: any two that differ
_LOCK = RLock()
_FOLDS = {"add": "sum", "maximum": "most", "minimum": "least"}  # numpy's name -> operation


@dataclass(frozen=True)
class Layout:
    """What a rule's path through its code may depend on: which columns a table has, and whether
    candidates have several rows.
    """

    backend: str
    columns: frozenset[str]
    several_rows: bool

    @classmethod
    def of(cls, table: KernelTable) -> Layout:
        """The layout of a table."""
        return cls(table.backend, frozenset(table.columns), table.n_candidates < table.n)


class RecordingTable:
    """Looks like a :class:`~hwsim.table.KernelTable` of the layout to a rule."""

    def __init__(self, graph: Graph, layout: Layout) -> None:
        self.backend, self.n, self._several = layout.backend, _ROWS, layout.several_rows
        self.n_candidates = _CANDIDATES if self._several else _ROWS
        schema = columns_of(layout.backend)
        self.columns: Mapping[str, Traced] = {
            name: Traced(graph, graph.add(_column(name, schema[name].dtype)), _ROWS)
            for name in sorted(layout.columns)
        }
        self._defaults = {name: (c.default, c.dtype) for name, c in schema.items()}

    def __getitem__(self, name: str) -> Any:
        found = self.columns.get(name)
        if found is not None:
            return found
        if name not in self._defaults:
            raise KeyError(f"column {name!r}: unknown for backend {self.backend!r}")
        default, dtype = self._defaults[name]
        return np.full(self.n, default, dtype=dtype)

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def per_candidate(self, values: Any, how: np.ufunc = np.add) -> Any:
        """``(n_candidates,)``, as of a kernel table."""
        if not self._several:
            return values
        if not isinstance(values, Traced):
            if how is np.add:
                raise NotRecordable("the sum of a constant over the rows of a candidate")
            return values[: self.n_candidates]
        op = _FOLDS.get(how.__name__)
        if op is None:
            raise NotRecordable(f"numpy.{how.__name__}.reduceat")
        kind = values.graph.nodes[values.index].result
        node = values.graph.add(Node(op, kind, kind, (values.index,)))
        return Traced(values.graph, node, self.n_candidates, "candidate")

    def warp_access(self, lanes: Any, threads: Any) -> WarpAccess:
        """The accesses of warps, each of them one operation (see :mod:`hwsim.gpu_sm.access`)."""
        key = capped(lanes, threads)
        columns: list[Any] = [x for x in key if isinstance(x, Traced)]
        if not columns:
            raise NotRecordable("warps whose accesses no column describes")
        sectors, wavefronts = (
            columns[0].made(f"warp_{what}", key) for what in ("sectors", "wavefronts")
        )
        return WarpAccess(np.ceil(lanes[0] / WIDEST_BYTES), sectors, wavefronts)


@dataclass(frozen=True)
class WarpAccess:
    """Stands for :class:`hwsim.gpu_sm.access.Access`."""

    split: Any
    sectors: Traced
    wavefronts: Traced


def _column(name: str, dtype: str) -> Node:
    kind = kind_of(dtype)
    return Node("column", kind, kind, value=name)


@contextmanager
def recording() -> Iterator[None]:
    """Lets recorded columns through ``np.asarray``, the one function on a rule's way for which
    numpy has no protocol.  Whatever else is passed to it meanwhile gets numpy's answer.
    """
    with _LOCK:
        original: Any = np.asarray

        def asarray(a: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
            if isinstance(a, Traced):
                return a if dtype is None else a.astype(dtype)
            return original(a, dtype, *args, **kwargs)

        np.asarray = asarray
        try:
            yield
        finally:
            np.asarray = original
