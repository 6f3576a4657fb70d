"""What rules lose of a space that was measured whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.rule import Finding, limit
from pruner.rulesets import rule_set
from pruner.verdict import Stage
from tuner.bench.losses import regret
from tuner.oracle import catalogue, load


@dataclass(frozen=True)
class FewBlocks:
    """Prunes what has more than ``most`` blocks."""

    name: ClassVar[str] = "few-blocks"
    stage: ClassVar[Stage] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = False

    most: float

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        return limit("blocks", table["blocks"], self.most, "blocks", reason="many", benefit="-")


def test_the_default_rules_lose_nothing_and_a_bad_rule_what_it_loses() -> None:
    oracle = load(catalogue()["gpu-softmax"])
    rules, problem = rule_set("default"), oracle.problem
    assert regret(oracle, rules.task, rules.trial) == 0
    table = problem.kernels(oracle.pool)
    blocks = table.per_candidate(table["blocks"], np.maximum)
    most = float(blocks[oracle.best]) - 1
    best_left = oracle.latency_us[blocks <= most].min(initial=np.inf)
    assert regret(oracle, (), (FewBlocks(most),)) == best_left / oracle.optimum_us - 1 > 0
    assert regret(oracle, (), (FewBlocks(0),)) == np.inf
