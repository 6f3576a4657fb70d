"""TVM's cost model, kept from learning that failures are perfect.

TVM labels a measurement with the least cost so far over its own.  While everything has failed that
is 1.0 for all of them, and a new kind of failure looks as good as the best.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm_ffi
from tvm.ir.utils import derived_object
from tvm.s_tir.meta_schedule.cost_model import PyCostModel


@derived_object
class Honest(PyCostModel):  # type: ignore[misc]
    """Holds the failures of a workload back until something has run."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self._inner = inner
        self._held: dict[int, tuple[list[Any], list[Any]]] = {}
        self._ran: set[int] = set()

    def load(self, path: str) -> None:
        """Load the inner model."""
        self._inner.load(path)

    def save(self, path: str) -> None:
        """Save the inner model."""
        self._inner.save(path)

    def update(self, context: Any, candidates: Any, results: Any) -> None:
        """Pass measurements on as soon as one of the workload's has run."""
        key = int(tvm_ffi.structural_hash(context.mod))
        held_candidates, held_results = self._held.pop(key, ([], []))
        everything = [*held_candidates, *candidates], [*held_results, *results]
        if key not in self._ran and not any(r.run_secs for r in results):
            self._held[key] = everything
            return
        self._ran.add(key)
        self._inner.update(context, *everything)

    def predict(self, context: Any, candidates: Any) -> Any:
        """``(n,)`` float64, higher is better; what the inner model cannot say is 0."""
        found = np.asarray(self._inner.predict(context, candidates), dtype=np.float64)
        return np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0)
