"""Every shipped rule keeps the contract that users' rules are held to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from hwsim.chip import Chip
from hwsim.chips import load_chip
from hwsim.table import KernelTable
from pruner.registry import builtin
from pruner.rule import Finding, RuleError
from pruner.rulesets import RULE_SETS, rule_set
from pruner.scopes import SCOPES
from pruner.testing import conform, conform_task

CHIPS = {
    "ascend_cube": "ascend-910b1",
    "mlu_sram": "mlu370-s4",
    "gpu_sm": "a100-sxm-40gb",
    "cpu": "local-cpu",
}

SPECS = [
    *(f"capacity{{scope={scope}}}" for scope in SCOPES),
    *(f"tvm-verifier{{limit={limit}}}" for limit in ("all", "threads", "pipeline", "ramp")),
    "int-overflow", "sum-rounding", "tensor-blocks", "sram-fallback", "roofline-bound",
    *(f"double-buffer-fit{{scope={scope}}}" for scope in ("l1", "l0a", "l0b", "ub")),
    "double-buffer-fit{scope=nram}", "double-buffer-fit{scope=wram}",
    "double-buffer-fit{scope=sram}", "pipeline-depth", "pipeline-depth{max_depth=3}",
    "core-starvation",
    "short-transfer", "occupancy-floor", "register-spill", "bank-conflict",
    "vector-length", "vector-length{table=as_described}", "mean-cost", "mean-cost{budget=7}",
    "vector-fill", "idle-cores", "accumulator-tile", "cache-tile", "unrolled-code",
]  # fmt: skip
TASK_SPECS = [
    *(f"value-capacity{{scope={scope}}}" for scope in SCOPES),
    "value-threads{bound=most}", "value-threads{bound=least}", "split-multiple{multiple=16}",
    "split-multiple", "vector-values", "vector-values{table=as_described}",
    "reduce-thread-split", "reduce-thread-split{max_length=8}", "unit-split",
    "value-pipeline", "value-completion", "operator-pattern",
]  # fmt: skip


def test_every_rule_is_covered() -> None:
    covered = {spec.split("{")[0] for spec in (*SPECS, *TASK_SPECS)}
    assert covered == set(builtin().classes)


@pytest.mark.parametrize("spec", SPECS)
def test_trial_rules_conform(spec: str) -> None:
    rule = builtin().parse(spec)
    assert rule.backends
    for backend in rule.backends:
        conform(rule, load_chip(CHIPS[backend]))


@pytest.mark.parametrize("spec", TASK_SPECS)
def test_task_rules_conform(spec: str) -> None:
    rule = builtin().parse(spec)
    for backend in rule.backends:
        conform_task(rule, load_chip(CHIPS[backend]))


@pytest.mark.parametrize("name", RULE_SETS)
def test_rule_sets_load_and_are_versioned(name: str) -> None:
    rules = rule_set(name)
    assert rules.name == f"{name}@{RULE_SETS[name][0]}"
    assert [*rules.specs]
    assert all(rules.row(rule)["doc"] for rule in (*rules.task, *rules.trial))


@dataclass(frozen=True)
class _Base:
    name: ClassVar[str] = "bad"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = False

    def check(self, table: KernelTable, chip: Chip) -> Finding:
        n = table.n
        return Finding(self.keep(table), "q", np.ones(n), np.ones(n), "B", "because")

    def keep(self, table: KernelTable) -> np.ndarray:
        return np.ones(table.n, bool)


class _Raises(_Base):
    def keep(self, table: KernelTable) -> np.ndarray:
        raise ZeroDivisionError("no blocks")


class _Short(_Base):
    def keep(self, table: KernelTable) -> np.ndarray:
        return np.ones(table.n + 1, bool)


class _Writes(_Base):
    def keep(self, table: KernelTable) -> np.ndarray:
        table["threads"][:] = 7
        return np.ones(table.n, bool)


class _Places(_Base):
    def keep(self, table: KernelTable) -> np.ndarray:
        return np.arange(table.n) % 2 == 0


class _Random(_Base):
    def keep(self, table: KernelTable) -> np.ndarray:
        return np.random.default_rng().random(table.n) < 0.5


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        (_Raises(), "ZeroDivisionError: no blocks"),
        (_Short(), r"keep is bool \(1,\), expected bool \(0,\)"),
        (_Writes(), "writes to the table"),
        (_Places(), "depends on the order"),
        (_Random(), "answers differently the second time"),
    ],
)
def test_the_suite_finds_what_a_bad_rule_breaks(rule: _Base, complaint: str) -> None:
    with pytest.raises(RuleError, match=f"bad: .*{complaint}"):
        conform(rule, load_chip("a100-sxm-40gb"))  # type: ignore[arg-type]


def test_a_good_rule_passes() -> None:
    conform(_Base(), load_chip("a100-sxm-40gb"))  # type: ignore[arg-type]
