"""Training: the torch network is the numpy one, and it learns what it is taught."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pruner.meta.model import load
from tuner.meta.history import Part, Task

from ...pruner.meta_graphs import random_graph

pytest.importorskip("torch", reason="training needs the extra meta (torch, torch-geometric)")
pytest.importorskip("torch_geometric", reason="training needs the extra meta")

from tuner.meta.net import Network
from tuner.meta.pretrain import history_hash, moments, pretrain


def task(seed: int, n: int = 96) -> Task:
    """A task whose latency is in its graphs: wide first loops are slow."""
    graph: Any = random_graph(n, seed)
    graph = type(graph)(n, graph.nodes, graph.edges, graph.whole, np.zeros(n))
    latency = np.exp(graph.nodes["loop"][:, :, 0].mean(axis=1) * 2)
    latency[::16] = np.inf
    part = Part(graph, latency, graph.whole[:, :38], np.ones(n, dtype=bool))
    return Task("w", f"chip-{seed}", "gpu_sm", (part,))


def test_torch_and_numpy_agree(tmp_path: Path) -> None:
    tasks = [task(0), task(1)]
    model = pretrain(tasks, 0, "prunelab meta pretrain", steps=3)
    model.save(tmp_path / "m.npz")
    network = Network(moments(tasks))
    network.load(model.weights)
    for t in tasks:
        graph = t.parts[0].graph
        torch_says = network(graph).detach().numpy()
        np.testing.assert_allclose(load(tmp_path / "m.npz").score(graph), torch_says, atol=1e-5)


def test_it_learns_and_the_same_seed_gives_the_same_model() -> None:
    tasks, losses = [task(s) for s in range(4)], []
    model = pretrain(tasks, 0, "x", steps=60, told=lambda _, loss: losses.append(loss))
    assert np.mean(losses[-10:]) < 0.7 * np.mean(losses[:10])
    unseen = task(9)
    ran = np.isfinite(unseen.latency_us)
    score = model.score(unseen.parts[0].graph)
    assert np.corrcoef(score[ran], np.log(unseen.latency_us[ran]))[0, 1] > 0.5
    assert pretrain(tasks, 0, "x", steps=5).hash == pretrain(tasks, 0, "x", steps=5).hash
    assert model.header.history_hash == history_hash(tasks) != history_hash(tasks[:1])
