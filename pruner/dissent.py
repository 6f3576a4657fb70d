"""The draft's objections to the gate: heeded as long as they are worth a measurement.

Where the run has not been, trees know nothing, and the errors of where it has been do not say so.
The draft (:mod:`pruner.draft`) needs no measurement: what it puts next to the best measured is not
pruned on the trees' word alone.  What it objects to is measured, so that it is seen who was right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pruner.gate import NEAR

Floats = NDArray[np.float64]

CLOSE_BY = 1.1  # draft over the best measured one's: what the draft objects to
BORNE_OUT = 1 + NEAR  # latency over the best: it was right
PATIENCE = 128  # objections in a row that were not borne out


class Dissent:
    """Objections of one run.  After ``PATIENCE`` in vain they are no longer heeded, until a probe
    shows that one was right.

    ``close_us`` is the draft up to which a candidate is close to the best measured; 0: there is
    none.
    """

    def __init__(self) -> None:
        self.close_us = 0.0
        self._best_us = float("inf")
        self._in_vain = 0
        self._objected: set[str] = set()  # since the last measurements

    def heard(self, hashes: Sequence[str], draft_us: Floats) -> NDArray[np.bool_]:
        """``(n,)``: which of the candidates that the gate would prune are measured all the same."""
        close = draft_us <= self.close_us
        self._objected.update(hashes[i] for i in close.nonzero()[0].tolist())
        return close if self._in_vain < PATIENCE else np.zeros(len(close), bool)

    def observe(self, hashes: Sequence[str], draft_us: Floats, latency_us: Floats) -> None:
        """Learn who was right from measurements, ``(n,)``; ``inf`` for a failure."""
        best = int(latency_us.argmin())
        if latency_us[best] < self._best_us:
            self._best_us = float(latency_us[best])
            self.close_us = float(draft_us[best]) * CLOSE_BY
        for candidate, us in zip(hashes, latency_us.tolist(), strict=True):
            if candidate in self._objected:
                right = us <= self._best_us * BORNE_OUT
                self._in_vain = 0 if right else self._in_vain + 1
        self._objected.clear()
