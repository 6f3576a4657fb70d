"""Structures that make no sense in a pattern of operators, whatever the chip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hwsim.chip import Chip
from pruner.patterns import SHIPPED, patterns
from pruner.rule import Finding
from pruner.task import Decision, Space
from pruner.verdict import Stage


@dataclass(frozen=True)
class OperatorPattern:
    """A value goes that the knowledge of operator patterns forbids (``pruner/patterns.toml``).

    ``file`` is a table of the user's in its place.
    """

    name: ClassVar[str] = "operator-pattern"
    stage: ClassVar[Stage] = "task"
    backends: ClassVar[tuple[str, ...]] = ("ascend_cube", "mlu_sram", "gpu_sm")
    hard: ClassVar[bool] = False
    joint: ClassVar[bool] = False

    file: str = ""

    def __post_init__(self) -> None:
        """Refuse a table that cannot be read, before a run starts."""
        patterns(self.file or SHIPPED)

    def check(self, space: Space, decision: Decision, chip: Chip) -> Finding | None:
        """Iterations of the loops that the strictest pattern speaks of, against its most."""
        known = patterns(self.file or SHIPPED)
        found = [(p.most, n, p) for n, p in known.items() if p.applies(space.task, decision)]
        if not found:
            return None
        most, name, pattern = min(found, key=lambda f: f[:2])
        parts = tuple(i for i, role in enumerate(decision.roles) if role == pattern.role)
        need = space.products[decision.name, parts]
        return Finding(
            keep=need <= most,
            quantity=f"{pattern.role}_iterations",
            need=need,
            have=np.full(len(need), float(most)),
            unit="iterations",
            reason=f"{_literal(pattern.why)} (pattern {_literal(name)}: at most {{have}}"
            " iterations, this has {need})",
            benefit="every candidate with this value",
        )


def _literal(text: str) -> str:
    """A user's words, of which nothing is filled in."""
    return text.replace("{", "{{").replace("}", "}}")
