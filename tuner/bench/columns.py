"""Microseconds a candidate on the columns road, the TIR road and TVM's replay, as a table.

``python -m tuner.bench.columns CHIP [WORKLOAD ...]`` (without names: the catalogue).  CPU time in
batches of 4,096 random candidates; what a sketch costs once is told apart.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from hwsim.chips import load_chip
from tuner import tir
from tuner.problem import Problem
from tuner.sketch import Sketch
from tuner.workloads import resolve
from tuner.workloads.catalogue import SPECS

BATCH = 4096
_WARM = 3  # batches before the clock counts: templates, tables, and small spaces as a whole
_BATCHES = 9  # batches, the fastest of which counts
_REPLAYED = 4  # candidates of a sketch


@dataclass(frozen=True)
class Cost:
    """CPU time of one sketch; ``columns_us`` is None where it has no columns road.

    ``once_s``: until the columns road serves any batch, the check against the TIR road included.
    """

    once_s: float
    columns_us: float | None
    tir_us: float
    replay_us: float


def cost(sketch: Sketch) -> Cost:
    """Time the roads of a sketch."""
    rng = np.random.default_rng(0)
    once = _timed(lambda: sketch.road)
    columns_us = None
    if sketch.road == "columns":
        once += sum(_timed(sketch.kernels, sketch.sample(rng, BATCH)) for _ in range(_WARM))
        batches = [sketch.sample(rng, BATCH) for _ in range(_BATCHES)]
        columns_us = min(_timed(sketch.kernels, rows) for rows in batches) / BATCH * 1e6
    rows = sketch.sample(rng, _REPLAYED)
    schedules = [sketch.replay(row) for row in rows]
    return Cost(
        once,
        columns_us,
        tir_us=_us_each(lambda s: tir.kernels(s, sketch.workload, sketch.chip.backend), schedules),
        replay_us=_us_each(sketch.replay, list(rows)),
    )


def _us_each(call: Callable[[Any], object], items: Sequence[Any]) -> float:
    return min(_timed(call, item) for item in items) * 1e6


def _timed(call: Callable[..., object], *arguments: Any) -> float:
    start = process_time()
    call(*arguments)
    return process_time() - start


def table(problems: Iterable[Problem]) -> Iterable[str]:
    """Lines of Markdown; of a workload's sketches the slowest."""
    yield "| workload | sketches | on columns | columns, us | TIR, us | replay, us | once, s |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for problem in problems:
        costs = [cost(sketch) for sketch in problem.sketches]
        us = [c.columns_us for c in costs if c.columns_us is not None]
        slowest = f"{max(us):.2f}" if us else "-"
        cells = (
            problem.workload.name,
            len(costs),
            len(us),
            slowest,
            f"{max(c.tir_us for c in costs):,.0f}",
            f"{max(c.replay_us for c in costs):,.0f}",
            f"{sum(c.once_s for c in costs):.1f}",
        )
        yield "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    chip = load_chip(sys.argv[1])
    for line in table(Problem.of(resolve(name), chip) for name in sys.argv[2:] or SPECS):
        print(line, flush=True)
