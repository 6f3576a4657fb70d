"""A model that knows everything, the simulator itself: what no other one can beat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hwsim.backends import simulate
from hwsim.chip import Chip
from hwsim.outcome import latencies_us
from hwsim.table import KernelTable
from pruner.rules.tvm_verifier import TvmVerifier


class OracleModel:
    """Noise-free simulated latencies; what fails, or what TVM's verifier rejects, takes forever."""

    ready = True

    def __init__(self, chip: Chip) -> None:
        self._chip = chip
        self._verifier = TvmVerifier("all")

    def update(self, table: KernelTable, latency_us: NDArray[np.float64]) -> None:
        """Nothing to learn."""

    def predict(self, table: KernelTable) -> NDArray[np.float64]:
        """Log latency ``(n_candidates,)``, ``inf`` for what does not run."""
        log = np.log(latencies_us(table, simulate(table, self._chip)))
        if self._chip.backend in self._verifier.backends:
            keep = self._verifier.check(table, self._chip).keep
            log[~table.per_candidate(keep, np.logical_and).astype(bool)] = np.inf
        return np.asarray(log)
