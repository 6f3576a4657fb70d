"""Branch and bound: what cannot beat the best measured latency even at the chip's peaks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.bounds import least_us
from pruner.machine import machine_of
from pruner.rule import RUN_STATE, Finding
from pruner.verdict import Stage


@dataclass(frozen=True)
class RooflineBound:
    """A candidate whose lower bound exceeds the best latency of the run so far cannot win.

    The bound is the busiest of the chip's components (arithmetic, memory, each engine that carries
    data) at peak rate, all overlapped, on as many cores as the candidate has blocks for; ``slack``
    is how far the chip file's numbers may be off: 1.25 covers 20 % in any of them.  The number of
    cores counts by whole rounds of blocks: where a few cores more would save more than ``slack``,
    that is the slack.  ``best_us`` is no parameter but the state of the run, set by the trial
    stage; 0 until the first measurement.
    """

    name: ClassVar[str] = "roofline-bound"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm")
    hard: ClassVar[bool] = False

    slack: float = 1.25
    best_us: float = field(default=0.0, metadata=RUN_STATE)

    def with_best(self, best_us: float) -> RooflineBound:
        """The rule for a run whose best latency is ``best_us``."""
        return replace(self, best_us=best_us)

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        """Least microseconds of the candidate, all its kernels, against the best so far."""
        rows = least_us(table, chip)
        least = table.per_candidate(rows)[table["candidate"]]
        machine = machine_of(chip)
        fewer = machine.rounds(table) / machine.fewest_rounds(table)
        slack = table.per_candidate(np.maximum(fewer, self.slack), np.maximum)[table["candidate"]]
        have = slack * (self.best_us or np.inf)
        fields = machine.fields
        return Finding(
            keep=least <= have,
            quantity="least_us",
            need=least,
            have=have,
            unit="us",
            reason="takes at least {need} us on its busiest component, the bound is {have} us",
            benefit="a run that could not win, {excess} us beyond that bound",
            basis=(*fields["cores"], *fields["offchip"]),
        )
