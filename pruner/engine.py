"""What may stand in for numpy in a trial stage: rules, features and trees of a table in one go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hwsim.table import KernelTable
from pruner.gate import Gate
from pruner.rule import Finding, Rule


@dataclass(frozen=True)
class Reading:
    """What an engine says of ``n`` candidates; it equals what numpy says to the last bit.

    Parameters
    ----------
    rules:
        Positions of the rules that it answered for; numpy is asked for the others.
    code:
        ``(n,)`` position of the first of them that objects, -1 where none does.
    features:
        ``(n, 38)``, of candidates to which none of them objects; ``None`` where it does not know
        them.
    trees:
        ``(n,)`` sum of the gate's trees, ``nan`` where a rule objects, or ``None``.
    findings:
        What each of those rules found, computed when it is asked for.
    draft_us:
        The draft of a single candidate to which none of them objects, computed when it is asked
        for; ``None`` where numpy has to say.
    """

    rules: tuple[int, ...]
    code: NDArray[np.int64]
    features: NDArray[np.float32] | None
    trees: NDArray[np.float64] | None
    findings: Callable[[], Mapping[int, Finding]]
    draft_us: Callable[[], float | None] = lambda: None


class Engine(Protocol):
    """Reads tables for one chip."""

    def read(self, rules: Sequence[Rule], gate: Gate | None, table: KernelTable) -> Reading | None:
        """A reading of every candidate, or ``None``; ``gate`` is ready, or ``None``."""
        ...
