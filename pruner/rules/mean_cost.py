"""The heuristic of the Ansor description: keep(s) iff alpha ops(s) + beta mem(s) <= theta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.machine import machine_of
from pruner.rule import Finding
from pruner.traffic import traffic_of
from pruner.verdict import Stage


@dataclass(frozen=True)
class MeanCost:
    """Keeps the candidates of a batch whose static cost is at most theta.

    ``ops`` is the executed operations and ``mem`` the off-chip bytes, each as microseconds at the
    chip's peak, so that ``alpha`` and ``beta`` are plain weights.  Theta is the mean cost of the
    batch or, with ``budget`` > 0, what keeps the ``budget`` cheapest candidates.  The answer
    depends on the company that a candidate keeps, never on its order.
    """

    name: ClassVar[str] = "mean-cost"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm", "cpu")
    hard: ClassVar[bool] = False

    alpha: float = 1.0
    beta: float = 1.0
    budget: int = 0

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Cost of the whole candidate against theta."""
        cost = self._cost(table, chip)
        theta = self._theta(cost)
        need = cost[table["candidate"]]
        fields = machine_of(chip).fields
        return Finding(
            keep=need <= theta,
            quantity="static_cost_us",
            need=need,
            have=np.full(table.n, theta),
            unit="us",
            reason="static cost {need} us is above theta, {have} us",
            benefit="a candidate costlier than its batch",
            basis=(*fields["cores"], *fields["offchip"]),
        )

    def _cost(self, table: KernelTable, chip: Chip) -> NDArray[np.float64]:
        machine = machine_of(chip)
        ops = table["macs"] / machine.peak(table)
        ops += (table["alu_ops"] + table["special_ops"]) * 4 / machine.vector_bytes_per_us
        mem = traffic_of(table).offchip_bytes / machine.offchip_bytes_per_us
        rows = self.alpha * ops + self.beta * mem
        return np.asarray(table.per_candidate(rows), dtype=np.float64)

    def _theta(self, cost: NDArray[np.float64]) -> float:
        if not len(cost):
            return 0.0
        ascending = np.sort(cost)  # sorted, so that the sum does not depend on the order
        if self.budget:
            return float(ascending[min(self.budget, len(cost)) - 1])
        return float(ascending.mean())
