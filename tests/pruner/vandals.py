"""Rules that break their contract, each in its own way; `check` has to name every one."""

import os
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pruner.rule import Finding


def _finding(keep):
    one = np.ones(len(keep))
    return Finding(keep, "cores", 2 * one, one, "cores", "uses {need} of {have} \x1b[31m")


@dataclass(frozen=True)
class All:
    """Prunes everything."""

    name: ClassVar[str] = "all"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("mlu_sram",)
    hard: ClassVar[bool] = False

    def check(self, table, chip):
        return _finding(np.zeros(table.n, bool))


@dataclass(frozen=True)
class Careless(All):
    """Keeps what uses one core."""

    name: ClassVar[str] = "careless"
    stage: ClassVar[str] = "trial"

    def check(self, table, chip):
        return _finding(table["clusters"] * table["cores_per_cluster"] == 1)


@dataclass(frozen=True)
class Liar(Careless):
    """Calls the rest impossible."""

    name: ClassVar[str] = "liar"
    stage: ClassVar[str] = "trial"
    hard: ClassVar[bool] = True


@dataclass(frozen=True)
class Loops(All):
    """Never answers."""

    name: ClassVar[str] = "loops"
    stage: ClassVar[str] = "trial"

    def check(self, table, chip):
        while True:
            pass


@dataclass(frozen=True)
class Exits(All):
    """Ends the process that asks it."""

    name: ClassVar[str] = "exits"
    stage: ClassVar[str] = "trial"

    def check(self, table, chip):
        print("\x1b[31m noise")
        os._exit(0)


@dataclass(frozen=True)
class Raises(All):
    """Raises."""

    name: ClassVar[str] = "raises"
    stage: ClassVar[str] = "trial"

    def check(self, table, chip):
        raise ValueError("no\nway")


@dataclass(frozen=True)
class Misshapen(All):
    """Answers for other candidates."""

    name: ClassVar[str] = "misshapen"
    stage: ClassVar[str] = "trial"

    def check(self, table, chip):
        return _finding(np.ones(3, bool))


@dataclass(frozen=True)
class Impure(All):
    """Throws dice."""

    name: ClassVar[str] = "impure"
    stage: ClassVar[str] = "trial"

    def check(self, table, chip):
        return _finding(np.random.default_rng().random(table.n) < 0.5)


@dataclass(frozen=True)
class Vain:
    """A task rule without a reason."""

    name: ClassVar[str] = "vain"
    stage: ClassVar[str] = "task"
    backends: ClassVar[tuple[str, ...]] = ("mlu_sram",)
    hard: ClassVar[bool] = False
    joint: ClassVar[bool] = False

    def check(self, space, decision, chip):
        one = np.ones(len(decision.values))
        return Finding(one > 0, "x", one, one, "B", "")
