"""Training: which of two candidates of a task is more than 10 % slower, over all tasks at once.

The label of a pair (candidate, current best) is 1 where the candidate fails or is slower than 1.1
times the best.  As the "current best" of a step serve candidates from the better half of the task,
as they would at some time of a search.  The logistic loss of ``slope * (score - score of the
best) + offset`` is therefore the loss of exactly the probability that the prior is asked for.
A second, small term holds scores to log latency, which keeps their level from drifting.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, smooth_l1_loss

from pruner.meta.graph import node_kinds
from pruner.meta.model import FORMAT, WORSE, Header, MetaModel, features_hash
from tuner.meta.history import Task
from tuner.meta.net import HEAD, HIDDEN, LAYERS, Network

VERSION = "1.0.0"
STEPS = 500
TASKS = 4  # of a step
CANDIDATES = 32  # of each sketch of a task of a step
REFERENCES = 8  # current bests of a task of a step
RATE = 2e-3
SCALE_WEIGHT = 0.2
FAILED = 2.0  # a failure counts as this many times the slowest that works, as in the gate

Moments = dict[str, NDArray[np.float32]]


def pretrain(
    tasks: Sequence[Task],
    seed: int,
    made_with: str,
    *,
    steps: int = STEPS,
    told: Callable[[int, float], None] = lambda step, loss: None,
) -> MetaModel:
    """A model trained on ``tasks``; the same for the same tasks and seed on one machine."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    network = Network(moments(tasks))
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
    for step in range(steps):
        chosen = rng.choice(len(tasks), size=min(TASKS, len(tasks)), replace=False)
        loss = torch.stack([_loss(network, tasks[i], rng) for i in chosen]).mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        told(step, float(loss.detach()))
    return MetaModel.of(_header(network, tasks, made_with), network.weights())


def _loss(network: Network, task: Task, rng: np.random.Generator) -> Tensor:
    scores, latencies = [], []
    for part in task.parts:
        rows = rng.permutation(part.graph.n)[:CANDIDATES]
        scores.append(network(part.graph.take(rows)))
        latencies.append(part.latency_us[rows])
    score, latency = torch.cat(scores), np.concatenate(latencies)
    ran = np.isfinite(latency)
    if ran.sum() < 2:
        return score.sum() * 0.0
    best = _references(latency, ran, rng)
    worse = torch.from_numpy((latency[:, None] > WORSE * latency[best]).astype(np.float32))
    logit = network.slope * (score[:, None] - score[best]) + network.offset
    log = np.log(np.where(ran, latency, FAILED * latency[ran].max())).astype(np.float32)
    scale = smooth_l1_loss(score, torch.from_numpy(log))
    return binary_cross_entropy_with_logits(logit, worse) + SCALE_WEIGHT * scale


def _references(
    latency: NDArray[np.float64], ran: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Candidates that work, the better the likelier: ranks uniform in the logarithm."""
    order = np.argsort(latency, kind="stable")[: int(ran.sum())]
    ranks = np.exp(rng.random(REFERENCES) * np.log(len(order))) - 1
    return np.asarray(order[ranks.astype(np.int64)])


def moments(tasks: Sequence[Task]) -> Moments:
    """Mean and spread of every feature over all nodes of all tasks."""
    out: Moments = {}
    for name in (*node_kinds(), "whole"):
        rows = np.concatenate([_rows(task, name) for task in tasks])
        spread = rows.std(axis=0)
        out[f"mean.{name}"] = rows.mean(axis=0).astype(np.float32)
        out[f"spread.{name}"] = np.where(spread > 1e-3, spread, 1.0).astype(np.float32)
    return out


def _rows(task: Task, name: str) -> NDArray[np.float64]:
    found = [p.graph.whole if name == "whole" else p.graph.nodes[name] for p in task.parts]  # type: ignore[index]
    return np.concatenate([f.reshape(-1, f.shape[-1])[::4] for f in found]).astype(np.float64)


def _header(network: Network, tasks: Sequence[Task], made_with: str) -> Header:
    return Header(
        format=FORMAT,
        version=VERSION,
        hidden=HIDDEN,
        layers=LAYERS,
        head=HEAD,
        slope=float(network.slope.detach()),
        offset=float(network.offset.detach()),
        worse=WORSE,
        features_hash=features_hash(),
        tasks=[task.name for task in tasks],
        candidates=sum(len(task.latency_us) for task in tasks),
        history_hash=history_hash(tasks),
        made_with=made_with,
    )


def history_hash(tasks: Sequence[Task]) -> str:
    """16 hex digits that stand for the candidates' features and latencies."""
    digest = hashlib.sha256()
    for task in tasks:
        digest.update(task.name.encode())
        for part in task.parts:
            digest.update(part.latency_us.tobytes() + part.x.tobytes())
    return digest.hexdigest()[:16]
