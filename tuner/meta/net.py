"""The network in torch, for training; needs the extra ``meta``.

The same function as :func:`pruner.meta.network.forward`, which a test holds it to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.nn import SimpleConv

from pruner.meta.graph import NODE_FEATURES, WHOLE_FEATURES, Graph, NodeKind, node_kinds
from pruner.meta.network import CLIP, Weights, messages

HIDDEN, LAYERS, HEAD = 24, 2, 48
State = dict[NodeKind, Tensor]


class Network(nn.Module):  # type: ignore[misc]
    """Scores candidates; ``moments`` are mean and spread of every group of features."""

    def __init__(self, moments: Mapping[str, NDArray[np.float32]]) -> None:
        super().__init__()
        for name, value in moments.items():
            self.register_buffer(name.replace(".", "_"), torch.from_numpy(value))
        kinds = node_kinds()
        self.encode = nn.ModuleDict({k: nn.Linear(len(NODE_FEATURES[k]), HIDDEN) for k in kinds})
        self.keep = nn.ModuleList(
            nn.ModuleDict({k: nn.Linear(HIDDEN, HIDDEN) for k in kinds}) for _ in range(LAYERS)
        )
        self.send = nn.ModuleList(
            nn.ModuleDict({name: nn.Linear(HIDDEN, HIDDEN, bias=False) for name, *_ in messages()})
            for _ in range(LAYERS)
        )
        self.mean = SimpleConv(aggr="mean")
        self.head = nn.Linear(2 * HIDDEN * len(kinds) + len(WHOLE_FEATURES), HEAD)
        self.score = nn.Linear(HEAD, 1)
        self.slope = nn.Parameter(torch.tensor(3.0))
        self.offset = nn.Parameter(torch.tensor(0.0))

    def forward(self, graph: Graph) -> Tensor:
        """``(n,)`` scores."""
        state = {k: self._encoded(k, graph) for k in node_kinds()}
        edges = {name: torch.from_numpy(e.copy()) for name, e in graph.edges.items()}
        for keep, send in zip(self.keep, self.send, strict=True):
            state = self._round(keep, send, state, edges)
        pooled = [p for k in node_kinds() for p in (state[k].mean(dim=0), state[k].amax(dim=0))]
        x = torch.cat([*pooled, self._normalised("whole", graph.whole)], dim=1)
        above = self.score(torch.relu(self.head(x)))[:, 0]
        return above + torch.from_numpy(graph.log_least_us.astype(np.float32))

    def _encoded(self, kind: NodeKind, graph: Graph) -> Tensor:
        """``(nodes, n, HIDDEN)``: nodes first, so that a message moves long rows."""
        x = self._normalised(kind, graph.nodes[kind]).transpose(0, 1)
        return torch.relu(self.encode[kind](x))

    def _normalised(self, name: str, x: NDArray[np.float32]) -> Tensor:
        mean, spread = getattr(self, f"mean_{name}"), getattr(self, f"spread_{name}")
        return ((torch.from_numpy(x) - mean) / spread).clamp(-CLIP, CLIP)

    def _round(self, keep: Any, send: Any, state: State, edges: Mapping[str, Tensor]) -> State:
        said = {k: keep[k](state[k]) for k in node_kinds()}
        for name, relation, source, target in messages():
            pairs = edges[relation] if name == relation else edges[relation].flip(0)
            flat = state[source].flatten(1), state[target].flatten(1)
            mean = self.mean(flat, pairs).view(state[target].shape)
            said[target] = said[target] + send[name](mean)
        return {k: state[k] + torch.relu(said[k]) for k in node_kinds()}

    def load(self, weights: Weights) -> None:
        """Take over what :meth:`weights` gave."""
        named = {name: weights[_exported(name)] for name in self.state_dict() if _kept(name)}
        arrays = {name: torch.from_numpy(np.array(value)) for name, value in named.items()}
        self.load_state_dict(arrays, strict=False)

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """Every weight under the name that :func:`pruner.meta.network.shapes` gives it."""
        out: dict[str, NDArray[np.float32]] = {}
        for name, value in self.state_dict().items():
            array = value.detach().numpy().astype(np.float32)
            if _kept(name):
                out[_exported(name)] = array
        return out


def _kept(name: str) -> bool:
    """Slope and offset stand in the model's header."""
    return name not in ("slope", "offset")


def _exported(name: str) -> str:
    """``send.0.nests.weight`` is ``send0.nests.weight``, ``mean_loop`` is ``mean.loop``."""
    for moment in ("mean", "spread"):
        name = name.replace(f"{moment}_", f"{moment}.")
    for part in ("keep", "send"):
        name = name.replace(f"{part}.", part, 1) if name.startswith(f"{part}.") else name
    return name
