"""What the gate knows before the first measurement: earlier runs on the chip, or of the workload.

Latencies of other tasks say nothing by themselves; how far above its lower bound a candidate stays
(log latency over ``least_us``) does.  Whether that carries over is seen on the run's own
measurements, which the prior has never seen: :mod:`pruner.gate` takes it only where it helps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pruner.features import FEATURE_NAMES, log_least_us
from pruner.forest import ForestOptions, predict, train
from traces.store import Contents, Measured

if TYPE_CHECKING:
    import lightgbm as lgb

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

BEST, OTHERS = 100, 100  # measurements of a task: the best, and a sample of the rest
FEWEST = 32  # measurements of other tasks below which there is no prior
FAILURE_FACTOR = 2.0  # a failure counts as this many times the slowest kernel of its task
# Larger than the gate's own: it has more to learn, once a run.
FOREST = ForestOptions(trees=200, leaves=16, min_leaf=8)


@dataclass(frozen=True)
class Prior:
    """``x`` ``(n, 38)`` features and ``distance`` ``(n,)`` log latency over ``least_us``."""

    x: Rows
    distance: Floats
    tasks: int

    def __str__(self) -> str:
        """For a note in the log."""
        return f"{len(self.x)} measurements of {self.tasks} earlier tasks"

    def trained(self, seed: int) -> Base:
        """The trees that predict log latency from it."""
        options = ForestOptions(FOREST.trees, FOREST.leaves, FOREST.learning_rate, FOREST.min_leaf,
                                seed)  # fmt: skip
        return Base(train(self.x, self.distance, options))


@dataclass(frozen=True)
class Base:
    """A prediction of log latency that the gate's own trees correct; without trees the bound."""

    booster: lgb.Booster | None = None

    def __call__(self, x: Rows) -> Floats:
        """``(n,)`` log microseconds of ``(n, 38)`` features."""
        least = log_least_us(x)
        return least if self.booster is None or not len(x) else least + predict(self.booster, x)


def prior_of(contents: Contents, backend: str, chip_hash: str, workload_hash: str) -> Prior | None:
    """The measurements on the same chip and of the same program on other chips of the backend;
    ``None`` where there are too few.
    """
    tasks: dict[tuple[str, str], list[Measured]] = {}
    for m in contents.measured:
        related = m.chip_hash == chip_hash or m.workload_hash == workload_hash
        if m.backend == backend and related and len(m.features) == len(FEATURE_NAMES):
            tasks.setdefault((m.chip_hash, m.workload_hash), []).append(m)
    every = (_of_task(best_and_others(found)) for found in tasks.values())
    parts = [p for p in every if p is not None]
    if sum(len(p[0]) for p in parts) < FEWEST:
        return None
    x, distance = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Prior(x, distance, len(parts))


def best_and_others(found: Iterable[Measured]) -> list[Measured]:
    """The best 100 of a task, and 100 of the rest from the best to the failures."""
    ranked = sorted(found, key=lambda m: np.inf if m.latency_us is None else m.latency_us)
    rest = ranked[BEST:]
    step = max(1, -(-len(rest) // OTHERS))
    return ranked[:BEST] + rest[::step]


def _of_task(found: list[Measured]) -> tuple[Rows, Floats] | None:
    latency = np.array([np.nan if m.latency_us is None else m.latency_us for m in found])
    if np.isnan(latency).all():
        return None
    x = np.array([m.features for m in found], dtype=np.float32)
    slowest = FAILURE_FACTOR * np.nanmax(latency)
    return x, np.log(np.where(np.isnan(latency), slowest, latency)) - log_least_us(x)
