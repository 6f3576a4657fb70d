"""A space measured whole: the truth of every candidate, by its number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tuner.problem import Problem
from tuner.runs import search_spaces
from tuner.search import Numbering, Pool, Ranks, SketchSpace
from tuner.truth import BoolColumn, FloatColumn, IntColumn


@dataclass(frozen=True, eq=False)
class Oracle:
    """The truth of all ``n`` candidates of a problem; its rank is a candidate's row.

    Parameters
    ----------
    problem:
        The problem, restricted as its recipe says.
    latency_us:
        Noise-free latency, float64; ``inf`` for failures and for what TVM's verifier rejects.
    failure:
        A :class:`hwsim.result.Failure` each, int64; ``ok`` for what the verifier alone rejects.
    rejects:
        What TVM's verifier rejects, bool.
    """

    problem: Problem
    latency_us: FloatColumn
    failure: IntColumn
    rejects: BoolColumn

    def __len__(self) -> int:
        return len(self.latency_us)

    @cached_property
    def numbering(self) -> Numbering:
        """From ranks to decision vectors and back."""
        return numbering_of(self.problem)

    @property
    def pool(self) -> Pool:
        """All candidates by rank; 8 bytes a column and candidate."""
        return self.numbering.pool(np.arange(len(self)))

    def pool_of(self, ranks: Ranks) -> Pool:
        """The candidates of ascending ``ranks``."""
        return self.numbering.pool(ranks)

    def index_of(self, pool: Pool) -> Ranks:
        """``(n,)`` ranks of a pool's candidates in its order, -1 for those outside the space."""
        return self.numbering.ranks(pool)

    @property
    def valid(self) -> BoolColumn:
        """Which candidates run."""
        return np.isfinite(self.latency_us)

    @cached_property
    def optimum_us(self) -> float:
        """Best latency of the space; ``inf`` where nothing works."""
        return float(self.latency_us.min(initial=np.inf))

    @cached_property
    def best(self) -> int:
        """Rank of the first candidate with the best latency."""
        return int(np.argmin(self.latency_us))

    def near(self, share: float) -> BoolColumn:
        """Which candidates are within ``share`` of the optimum."""
        return self.valid & (self.latency_us <= self.optimum_us * (1 + share))

    def allowed(self, masks: Sequence[Mapping[str, BoolColumn]]) -> BoolColumn:
        """``(n,)``: which candidates have allowed values alone.

        ``masks`` has for each sketch what the task stage leaves: decision -> ``(options,)`` bool;
        a decision that is not named keeps all.
        """
        parts = [np.empty(0, dtype=bool)]
        for space, left in zip(self.numbering.spaces, masks, strict=True):
            grid = np.ones(1, dtype=bool)
            for c in space.choices:
                mask = left.get(c.name, np.ones(len(c.options), dtype=bool))
                grid = np.logical_and.outer(grid, mask).ravel()
            parts.append(grid)
        return np.concatenate(parts)

    def node_validity(self) -> list[dict[str, BoolColumn]]:
        """For each sketch and decision, which values have a valid completion, exactly."""
        edges, spaces = self.numbering.edges, self.numbering.spaces
        return [_valid_values(x, self.valid[edges[s] : edges[s + 1]]) for s, x in enumerate(spaces)]


def _valid_values(space: SketchSpace, valid: BoolColumn) -> dict[str, BoolColumn]:
    """``valid`` ``(size,)`` is a grid with one axis a decision."""
    grid = valid.reshape([len(c.options) for c in space.choices])
    out = {}
    for axis, choice in enumerate(space.choices):
        others = tuple(a for a in range(grid.ndim) if a != axis)
        out[choice.name] = np.asarray(grid.any(axis=others))
    return out


def numbering_of(problem: Problem) -> Numbering:
    """The numbers of a problem's candidates."""
    return Numbering(search_spaces(problem, None))
