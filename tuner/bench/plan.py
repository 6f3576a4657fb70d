"""What a benchmark runs: chips x workloads x strategies x arms x seeds."""

from __future__ import annotations

import hashlib
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from hwsim.chip import Chip

DEFAULT_CHIPS = ("ascend-910b1", "mlu370-s4", "a100-sxm-40gb")
DEFAULT_WORKLOADS = ("gemm:1024x1024x1024:float16", "resnet50.c3.3x3")
DEFAULT_ARMS = ("none", "two-stage")
CONTROL = "none"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides ``results.json``; it stands in its header."""

    chips: tuple[str, ...] = DEFAULT_CHIPS
    workloads: tuple[str, ...] = DEFAULT_WORKLOADS
    spaces: tuple[str, ...] = ()  # of the oracles' catalogue, in place of chips and workloads
    arms: tuple[str, ...] = DEFAULT_ARMS
    strategies: tuple[str, ...] = ("evolutionary",)
    seeds: int = 3
    seed: int = 0
    trials: int = 200
    repeats: int = 3
    batch: int = 32
    rules: str = "default"
    rule_files: tuple[str, ...] = ()
    cost_model: str = "mixed"
    boards: int = 0  # of the modelled farm; 0: as the chip file says
    compile_workers: int = 0
    backend: str = "sim"  # or local, or rpc://HOST:PORT/KEY
    store: str = ""  # folder of what earlier runs left; its snapshot, which all runs see
    store_snapshot: str = ""
    meta: str = ""  # model file of the arm meta; empty: the one that ships

    def chip(self, given: str) -> Chip:
        """A chip of the plan with the plan's farm; ``ChipError`` as :func:`load_chip`."""
        from hwsim.chips import load_chip
        from hwsim.farm import with_farm

        return with_farm(load_chip(given), self.boards, self.compile_workers)

    def groups(self) -> list[Group]:
        """Chip and workload pairs: what one process works on.

        Raises
        ------
        tuner.oracle.OracleError
            There is no such space.
        """
        if self.spaces:
            from tuner.oracle import recipe_named

            recipes = [recipe_named(name) for name in self.spaces]
            return [Group(r.chip, r.workload, r.name) for r in recipes]
        return [Group(c, w) for c, w in itertools.product(self.chips, self.workloads)]

    def runs(self) -> list[tuple[str, str, int]]:
        """(strategy, arm, seed) of one group, the control first: the others are held against it."""
        arms = sorted(self.arms, key=lambda a: a != CONTROL)
        seeds = range(self.seed, self.seed + self.seeds)
        return list(itertools.product(self.strategies, arms, seeds))

    def hash(self) -> str:
        """First 16 hex digits of the SHA-256 of the plan."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:16]


def file_name(workload: str) -> str:
    """A workload's name as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", workload)


@dataclass(frozen=True)
class Group:
    """One chip and workload; ``space`` names the recipe that they come from."""

    chip: str
    workload: str
    space: str = ""
