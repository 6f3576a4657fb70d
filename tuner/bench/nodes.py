"""What the task stage cuts of the spaces that were measured whole, as a table.

``python -m tuner.bench.nodes [SPACE ...]`` (of ``prunelab oracle``, which has to have measured
them; all without names).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pruner.rulesets import rule_set
from pruner.task import Task
from pruner.task_stage import TaskStage
from tuner.oracle import Oracle, catalogue, load

NEAR = 0.01
_REPEATS = 9


@dataclass(frozen=True)
class Nodes:
    """(Decision, value) pairs of a space.

    ``invalid``: no completion is valid; ``cut`` of those, ``wrongly`` of the others; ``lost``
    candidates within 1 % of the optimum; ``task_ms``: CPU time of a sketch, the median of the
    fastest of nine runs each.
    """

    space: str
    nodes: int
    invalid: int
    cut: int
    wrongly: int
    lost: int
    task_ms: float

    @property
    def share(self) -> float | None:
        """Of the invalid nodes, those that are cut; ``None`` where there are none."""
        return self.cut / self.invalid if self.invalid else None


def nodes_of(name: str, oracle: Oracle, rules: str = "default") -> Nodes:
    """Run the task stage of a rule set over an oracle's sketches."""
    stage = TaskStage(rule_set(rules).task, oracle.problem.chip)
    masks = [stage.run(task).allowed for task in oracle.problem.tasks]
    pairs = [
        (valid, mask[d])
        for validity, mask in zip(oracle.node_validity(), masks, strict=True)
        for d, valid in validity.items()
    ]
    valid, kept = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return Nodes(
        space=name,
        nodes=len(valid),
        invalid=int((~valid).sum()),
        cut=int((~valid & ~kept).sum()),
        wrongly=int((valid & ~kept).sum()),
        lost=int((oracle.near(NEAR) & ~oracle.allowed(masks)).sum()),
        task_ms=float(np.median([_cpu_ms(stage, task) for task in oracle.problem.tasks])),
    )


def _cpu_ms(stage: TaskStage, task: Task) -> float:
    taken = []
    for _ in range(_REPEATS):
        start = time.process_time()
        stage.run(task)
        taken.append(time.process_time() - start)
    return min(taken) * 1e3


def table(rows: Iterable[Nodes]) -> Iterable[str]:
    """Lines of Markdown; the last one has the mean share of the spaces with invalid nodes."""
    yield "| space | nodes | invalid | cut | share | wrongly cut | lost within 1 % | ms a task |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    shares = []
    for r in rows:
        share = "-" if r.share is None else f"{r.share:.0%}"
        shares += [] if r.share is None else [r.share]
        cells = (r.space, r.nodes, r.invalid, r.cut, share, r.wrongly, r.lost, f"{r.task_ms:.2f}")
        yield "| " + " | ".join(map(str, cells)) + " |"
    if shares:
        yield f"mean share over {len(shares)} spaces with invalid nodes: {np.mean(shares):.1%}"


if __name__ == "__main__":
    names = sys.argv[1:] or list(catalogue())
    for line in table(nodes_of(name, load(catalogue()[name])) for name in names):
        print(line, flush=True)
