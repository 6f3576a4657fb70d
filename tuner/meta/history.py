"""The history that a model is trained on: candidates of many tasks with simulated latencies.

A task is a workload on a chip.  Chips of one backend with the same design space share candidates:
graphs are made for each chip, since what they hold is relative to it, and so are the labels.  Only
candidates that the rules of the ``default`` set and TVM's verifier let pass are kept: nothing else
is ever shown to the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hwsim.chips import load_chip
from pruner.features import features
from pruner.meta.graph import Graph
from pruner.rulesets import rule_set
from pruner.trial import TrialStage
from tuner.decisions import IntMatrix
from tuner.meta.encode import graph
from tuner.problem import Problem
from tuner.runs import search_spaces, task_stage
from tuner.search import SketchSpace
from tuner.truth import truth_of
from tuner.workloads import resolve

DRAWN = 4096  # random candidates of a sketch that are looked at
KEPT = 192  # candidates of a sketch that are kept: half of them random ...
CLIMBS = 2  # ... half descendants of the best, after so many generations
PARENTS = 64


@dataclass(frozen=True)
class Part:
    """Candidates of one sketch: ``graph`` of ``n``, ``latency_us`` ``(n,)``, ``inf`` for failures,
    ``x`` ``(n, 38)`` the gate's features, ``drawn`` ``(n,)`` whether it is a random one.
    """

    graph: Graph
    latency_us: NDArray[np.float64]
    x: NDArray[np.float32]
    drawn: NDArray[np.bool_]


@dataclass(frozen=True)
class Task:
    """One workload on one chip."""

    workload: str
    chip: str
    backend: str
    parts: tuple[Part, ...]

    @property
    def name(self) -> str:
        """``workload @ chip``."""
        return f"{self.workload} @ {self.chip}"

    @property
    def latency_us(self) -> NDArray[np.float64]:
        """``(n,)`` over all parts."""
        return np.concatenate([part.latency_us for part in self.parts])


def task(workload: str, chip: str, seed: int) -> Task | None:
    """The candidates of a task; None where none of them works."""
    problem = Problem.of(resolve(workload), load_chip(chip))
    rules = rule_set("default")
    stage = TrialStage(rules.trial, None, problem.chip)
    spaces = search_spaces(problem, task_stage(problem, rules))
    rng = np.random.default_rng(seed)
    parts = []
    for i, space in enumerate(spaces):
        if problem.sketches[i].road == "columns" and space.size:
            parts += _part(problem, stage, i, space, rng)
    ok = any(np.isfinite(part.latency_us).any() for part in parts)
    return Task(workload, chip, problem.chip.backend, tuple(parts)) if ok else None


def _part(
    problem: Problem, stage: TrialStage, i: int, space: SketchSpace, rng: np.random.Generator
) -> list[Part]:
    drawn = np.unique(space.sample(DRAWN, rng), axis=0)
    rows, latency = _let_through(problem, stage, i, rng.permutation(drawn))
    chosen, said = [rows[: KEPT // 2]], [latency[: KEPT // 2]]
    for _ in range(CLIMBS):
        if not len(rows):
            return []
        parents = rows[np.argsort(latency, kind="stable")[:PARENTS]]
        children = np.unique(space.mutate(np.repeat(parents, 4, axis=0), rng), axis=0)
        rows, latency = _let_through(problem, stage, i, rng.permutation(children))
        chosen.append(rows[: KEPT // 2 // CLIMBS])
        said.append(latency[: KEPT // 2 // CLIMBS])
    matrix, first = np.unique(np.concatenate(chosen), axis=0, return_index=True)
    return _encoded(problem, i, matrix, np.concatenate(said)[first], first < len(chosen[0]))


def _let_through(
    problem: Problem, stage: TrialStage, i: int, rows: IntMatrix
) -> tuple[IntMatrix, NDArray[np.float64]]:
    """Those of ``rows`` that rules and verifier let pass, and their latencies."""
    table = problem.sketches[i].kernels(rows)
    names = [str(k) for k in range(len(rows))]
    found = truth_of(problem, table, np.ones(len(rows), dtype=bool))
    keep = stage.judge(table, names, rescue=False).code < 0
    keep &= ~found.rejects
    return rows[keep], found.latency_us[keep]


def _encoded(
    problem: Problem,
    i: int,
    matrix: IntMatrix,
    latency: NDArray[np.float64],
    drawn: NDArray[np.bool_],
) -> list[Part]:
    sketch = problem.sketches[i]
    try:
        nest = sketch.nest(matrix)
    except ValueError:  # several loop structures: sampled compute locations
        return []
    table = sketch.kernels(matrix)
    encoded = graph(nest, table, problem.chip)
    return [Part(encoded, latency, features(table, problem.chip), drawn)]
