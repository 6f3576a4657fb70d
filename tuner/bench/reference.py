"""The reference that regret is computed against: a space measured whole, or a sample of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hwsim.table import KernelTable
from pruner.trial import TrialStage
from tuner.decisions import IntColumn
from tuner.problem import Problem
from tuner.runs import Reduced
from tuner.search import Pool
from tuner.truth import BoolColumn, FloatColumn

Kind = Literal["oracle", "sample"]


@dataclass(frozen=True)
class Part:
    """Some candidates of a reference: ``rows`` ``(m,)`` says which.

    ``readable`` ``(m,)`` says which of them the kernel table has.
    """

    rows: NDArray[np.int64]
    pool: Pool
    table: KernelTable
    readable: BoolColumn


@dataclass(frozen=True, eq=False)
class Reference(ABC):
    """``n`` candidates of a problem with their truth.

    ``latency_us`` ``(n,)`` is without noise, ``inf`` for what fails or TVM's verifier ``rejects``.
    """

    kind: ClassVar[Kind]

    problem: Problem
    latency_us: FloatColumn
    rejects: BoolColumn

    def __len__(self) -> int:
        return len(self.latency_us)

    @property
    def optimum_us(self) -> float:
        """Best latency; ``inf`` where nothing works."""
        return float(self.latency_us.min(initial=np.inf))

    @abstractmethod
    def parts(self) -> Iterator[Part]:
        """The candidates in parts of bounded size, the same ones each time."""

    @abstractmethod
    def locate(self, index: int) -> tuple[int, IntColumn]:
        """``(sketch, decision row)`` of one candidate."""

    @abstractmethod
    def kept_by_task(self, kept: Sequence[Reduced]) -> BoolColumn:
        """``(n,)``: which candidates the task stage leaves."""

    @abstractmethod
    def node_validity(self) -> list[dict[str, BoolColumn]]:
        """For each sketch and decision, which values have a valid completion."""


def kept_by_rules(reference: Reference, stage: TrialStage) -> BoolColumn:
    """``(n,)``: which candidates survive the rules (the gate left aside)."""
    keep = np.ones(len(reference), dtype=bool)
    for part in reference.parts():
        names = [str(i) for i in range(part.table.n_candidates)]
        judgement = stage.judge(part.table, names, rescue=False)
        keep[part.rows[part.readable]] = judgement.code < 0
    return keep
