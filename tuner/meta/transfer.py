"""How well a model carries over to tasks that it has not seen: AUC, beside simpler scores.

The label of a candidate is 1 where it fails or is more than 10 % slower than the best of its task.
AUC is the chance that a random candidate with label 1 gets a higher score than one with label 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pruner.features import log_least_us
from pruner.forest import ForestOptions, predict, train
from pruner.gate import FAILURE_FACTOR, Gate
from pruner.meta.model import WORSE, MetaModel
from tuner.meta.history import Task

FIRST = 32  # measurements of a task that a cold gate has seen
FOREST = ForestOptions(trees=400, leaves=31, min_leaf=20)  # of the gate that learns from history

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Transfer:
    """One held-out task: AUC by what scored it, over all its candidates and the ``drawn`` ones.

    ``positives``: share of candidates within 10 % of the best.
    """

    task: str
    candidates: int
    positives: float
    auc: Mapping[str, float]
    auc_drawn: Mapping[str, float]


def transfer(model: MetaModel, known: Sequence[Task], held_out: Sequence[Task]) -> list[Transfer]:
    """Score the ``held_out`` tasks by the model, by a LightGBM gate taught on the same ``known``
    tasks, by a cold gate, and by the chip's peaks alone.
    """
    taught = _taught(known)
    out = []
    for task in held_out:
        x = np.concatenate([part.x for part in task.parts])
        least = log_least_us(x)
        scores = {
            "gnn": np.concatenate([model.score(part.graph) for part in task.parts]),
            "gate_on_history": predict(taught, x) + least if taught is not None else least,
            "cold_gate": _cold(task, x),
            "lower_bound": least,
        }
        out.append(_transfer(task, scores))
    return out


def _transfer(task: Task, scores: Mapping[str, Floats]) -> Transfer:
    latency = task.latency_us
    drawn = np.concatenate([part.drawn for part in task.parts])
    return Transfer(
        task=task.name,
        candidates=len(latency),
        positives=float((latency <= WORSE * latency.min()).mean()),
        auc={name: _auc(latency, score) for name, score in scores.items()},
        auc_drawn={name: _auc(latency[drawn], score[drawn]) for name, score in scores.items()},
    )


def _auc(latency: Floats, score: Floats) -> float:
    """``nan`` where all candidates have one label, or none is scored."""
    from sklearn.metrics import roc_auc_score

    worse = latency > WORSE * latency.min(initial=np.inf)
    known = np.isfinite(score)
    if not known.any() or worse[known].all() or not worse[known].any():
        return float("nan")
    return float(roc_auc_score(worse[known], score[known]))


def _taught(tasks: Sequence[Task]) -> Any:
    """LightGBM on the gate's features, taught how far above the least latency candidates stay."""
    if not tasks:
        return None
    rows = np.concatenate([part.x for task in tasks for part in task.parts])
    target = np.concatenate([_target(task) for task in tasks])
    return train(rows, target, FOREST)


def _target(task: Task) -> Floats:
    latency = task.latency_us
    x = np.concatenate([part.x for part in task.parts])
    ran = np.isfinite(latency)
    worst = FAILURE_FACTOR * latency[ran].max()
    return np.log(np.where(ran, latency, worst)) - log_least_us(x)


def _cold(task: Task, x: NDArray[np.float32]) -> Floats:
    """The gate after ``FIRST`` random measurements of the task, which are not scored: ``nan``."""
    drawn = np.flatnonzero(np.concatenate([part.drawn for part in task.parts]))
    first = np.random.default_rng(0).permutation(drawn)[:FIRST]
    gate = Gate()
    gate.observe(x[first], task.latency_us[first])
    if not gate.ready:
        return np.full(len(x), np.nan)
    score = np.log(gate.opine(x).predicted_us)
    score[first] = np.nan
    return score
