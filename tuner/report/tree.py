"""How schedules are generated: the sketches of a space, and the decisions that each leaves open."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from tvm.s_tir import Trace

from traces import TaskPrune
from tuner.problem import Problem
from tuner.report.plots import figure_of, plain, svg


@dataclass(frozen=True)
class SketchView:
    """One sketch: its steps as TVM has them, and its size before and after the task stage."""

    index: int
    steps: str
    size: int
    left: int


def sketches_of(problem: Problem, removed: list[TaskPrune]) -> list[SketchView]:
    """Every sketch of a problem; the task stage took ``removed``."""
    return [
        SketchView(
            s.index,
            str(Trace(list(s.trace.insts), {})),  # without the decisions of one example
            s.size,
            int(np.prod([after for _, _, after in _decisions(problem, removed, s.index)])),
        )
        for s in problem.sketches
    ]


def tree(problem: Problem, removed: list[TaskPrune]) -> str:
    """A row a sketch, a box a decision in the order in which they are taken: values left of all."""
    rows = [_decisions(problem, removed, s.index) for s in problem.sketches]
    columns = max(map(len, rows))
    figure, ax = figure_of(max(6.0, 1.35 * columns), 0.6 + 0.95 * len(rows))
    for y, row in enumerate(rows):
        ax.text(-0.15, -y, f"sketch {y}", ha="right", va="center")
        for x, (name, before, after) in enumerate(row):
            ax.barh(-y, 0.9, left=x, height=0.62, color="#f4a582", align="center")
            ax.barh(-y, 0.9 * after / before, left=x, height=0.62, color="#92c5de")
            short = name if len(name) <= 18 else name[:8] + ".." + name[-8:]
            ax.text(x + 0.45, -y + 0.1, plain(short), ha="center", fontsize=6.5)
            ax.text(x + 0.45, -y - 0.2, f"{after} of {before}", ha="center", fontsize=7)
            if x:
                ax.annotate("", (x, -y), (x - 0.1, -y), arrowprops={"arrowstyle": "->"})
    ax.set_xlim(-1, columns)
    ax.axis("off")
    return svg(figure)


def _decisions(
    problem: Problem, removed: list[TaskPrune], sketch: int
) -> list[tuple[str, int, int]]:
    """Name, values, and values left, of each decision of a sketch."""
    gone: Counter[str] = Counter()
    for record in removed:
        if record.sketch == sketch:
            gone[record.decision] += len(record.values)
    found = []
    for d in problem.sketches[sketch].decisions:
        n = len(d.options())
        found.append((d.name, n, n - gone[d.name]))
    return found
