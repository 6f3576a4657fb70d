"""Random graphs and models of the network's shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pruner.meta.graph import NODE_FEATURES, RELATIONS, WHOLE_FEATURES, Graph
from pruner.meta.model import FORMAT, WORSE, Header, MetaModel, features_hash
from pruner.meta.network import shapes

NODES = {"loop": 7, "statement": 3, "access": 6, "buffer": 4}
HIDDEN, LAYERS, HEAD = 8, 2, 12


def random_graph(n: int, seed: int = 0) -> Graph:
    """``n`` candidates of one random topology."""
    rng = np.random.default_rng(seed)
    nodes: Any = {
        kind: rng.normal(size=(n, count, len(NODE_FEATURES[kind]))).astype(np.float32)
        for kind, count in NODES.items()
    }
    edges = {}
    for name, source, target in RELATIONS:
        pairs = {(int(rng.integers(NODES[source])), int(rng.integers(NODES[target])))
                 for _ in range(8)}  # fmt: skip
        edges[name] = np.array(sorted(pairs), dtype=np.int64).T
    whole = rng.normal(size=(n, len(WHOLE_FEATURES))).astype(np.float32)
    return Graph(n, nodes, edges, whole, rng.normal(size=n))


def header(**others: Any) -> Header:
    values: dict[str, Any] = {
        "format": FORMAT, "version": "0.0.1", "hidden": HIDDEN, "layers": LAYERS, "head": HEAD,
        "slope": 3.0, "offset": -0.5, "worse": WORSE, "features_hash": features_hash(),
        "tasks": ["a @ b"], "candidates": 1, "history_hash": "0", "made_with": "a test",
    }  # fmt: skip
    return Header(**(values | others))


def random_model(seed: int = 0, **others: Any) -> MetaModel:
    """A model with random weights."""
    rng = np.random.default_rng(seed)
    wanted = shapes(HIDDEN, LAYERS, HEAD)
    weights = {
        name: np.abs(rng.normal(size=shape)).astype(np.float32) + 0.1
        if name.startswith("spread")
        else (0.5 * rng.normal(size=shape)).astype(np.float32)
        for name, shape in wanted.items()
    }
    return MetaModel.of(header(**others), weights)
