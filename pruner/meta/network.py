"""The network's forward pass in numpy: what a trained model needs and nothing of torch.

Two rounds of messages along the relations of :mod:`pruner.meta.graph`, in both directions, the
mean of what the neighbours say (GraphSAGE, Hamilton et al. 2017, one matrix a relation as in
Schlichtkrull et al. 2018); then mean and maximum over the nodes of each kind, the whole, and two
dense layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pruner.meta.graph import (
    NODE_FEATURES,
    RELATIONS,
    WHOLE_FEATURES,
    Edges,
    Graph,
    NodeKind,
    node_kinds,
)

Weights = Mapping[str, NDArray[np.float32]]
Hidden = dict[NodeKind, NDArray[np.float32]]  # (nodes, n, hidden): nodes first, one product each

CLIP = 4.0  # standard deviations; what is stranger counts as this strange


def messages() -> list[tuple[str, str, NodeKind, NodeKind]]:
    """Every direction of every relation: name, relation, from, to."""
    out = []
    for name, source, target in RELATIONS:
        out += [(name, name, source, target), (f"{name}_back", name, target, source)]
    return out


def shapes(hidden: int, layers: int, head: int) -> dict[str, tuple[int, ...]]:
    """Name and shape of every weight; a dense layer's matrix is ``(outputs, inputs)``."""
    out: dict[str, tuple[int, ...]] = {}
    for kind, names in NODE_FEATURES.items():
        out |= _dense(f"encode.{kind}", hidden, len(names)) | _moments(kind, len(names))
    for layer in range(layers):
        for kind in node_kinds():
            out |= _dense(f"keep{layer}.{kind}", hidden, hidden)
        out |= {f"send{layer}.{name}.weight": (hidden, hidden) for name, *_ in messages()}
    width = 2 * hidden * len(node_kinds()) + len(WHOLE_FEATURES)
    out |= _moments("whole", len(WHOLE_FEATURES))
    return out | _dense("head", head, width) | _dense("score", 1, head)


def _dense(name: str, outputs: int, inputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _moments(name: str, features: int) -> dict[str, tuple[int, ...]]:
    return {f"mean.{name}": (features,), f"spread.{name}": (features,)}


def forward(weights: Weights, layers: int, graph: Graph) -> NDArray[np.float64]:
    """``(n,)`` scores: an estimate of log latency in us, good up to a task's own constant."""
    state: Hidden = {}
    for kind in node_kinds():
        x = normalised(weights, kind, graph.nodes[kind]).transpose(1, 0, 2)
        state[kind] = _relu(_apply(weights, f"encode.{kind}", x))
    for layer in range(layers):
        state = _round(weights, layer, state, graph.edges)
    pooled = [
        p for kind in node_kinds() for p in (state[kind].mean(axis=0), state[kind].max(axis=0))
    ]
    x = np.concatenate([*pooled, normalised(weights, "whole", graph.whole)], axis=1)
    above = _apply(weights, "score", _relu(_apply(weights, "head", x)))[:, 0]
    return np.asarray(graph.log_least_us + above, dtype=np.float64)


def normalised(weights: Weights, name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Features in standard deviations of the training tasks, clipped at ``CLIP``."""
    z = (x - weights[f"mean.{name}"]) / weights[f"spread.{name}"]
    return np.asarray(np.clip(z, -CLIP, CLIP), dtype=np.float32)


def _round(weights: Weights, layer: int, state: Hidden, edges: Mapping[str, Edges]) -> Hidden:
    said: Hidden = {k: _apply(weights, f"keep{layer}.{k}", state[k]) for k in node_kinds()}
    for name, relation, source, target in messages():
        pairs = edges[relation] if name == relation else edges[relation][::-1]
        nodes, n, hidden = state[source].shape
        flat = _mean(pairs, len(state[target]), nodes) @ state[source].reshape(nodes, -1)
        sent = flat.reshape(-1, n, hidden) @ weights[f"send{layer}.{name}.weight"].T
        said[target] += sent
    return {kind: state[kind] + _relu(said[kind]) for kind in node_kinds()}


def _mean(pairs: Edges, targets: int, sources: int) -> NDArray[np.float32]:
    """``(targets, sources)``: each row averages over the neighbours; a row of zeros without any."""
    out = np.zeros((targets, sources), np.float32)
    out[pairs[1], pairs[0]] = 1.0
    out /= np.maximum(out.sum(axis=1, keepdims=True), 1.0)
    return out


def _apply(weights: Weights, name: str, x: NDArray[np.float32]) -> Any:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _relu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.maximum(x, 0)
