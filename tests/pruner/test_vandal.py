"""A rule that writes to the table is named and left out; the table stays as it was."""

import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import pytest

from hwsim.chips import load_chip
from hwsim.table import KernelTable
from pruner import containment
from pruner.trial import TrialStage


@dataclass(frozen=True)
class Vandal:
    """Writes where it should read."""

    name: ClassVar[str] = "vandal"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = False

    def check(self, table, chip):
        table["blocks"][:] = 7


def test_a_rule_that_writes_to_the_table_is_contained() -> None:
    table = KernelTable.of("gpu_sm", blocks=[1, 2])
    stage = TrialStage([Vandal()], None, load_chip("a100-sxm-40gb"))
    judged = stage.judge(table, ["a", "b"])
    assert judged.keep.all()
    assert "read-only" in stage.disabled["vandal"]
    assert table["blocks"].tolist() == [1, 2]


@dataclass(frozen=True)
class Endless:
    """Loops, and swallows what it can."""

    name: ClassVar[str] = "endless"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = False

    def check(self, table, chip):
        while True:
            with suppress(Exception):
                sum(range(1000))


def test_a_rule_that_never_answers_is_interrupted_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(containment, "PATIENCE_S", 0.05)
    stage = TrialStage([Endless()], None, load_chip("a100-sxm-40gb"))
    judged = stage.judge(KernelTable.of("gpu_sm", blocks=[1, 2]), ["a", "b"])
    assert judged.keep.all()
    assert stage.disabled == {"endless": "NoAnswer: no answer within 0.05 s"}
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
