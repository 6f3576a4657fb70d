"""A loop nest with its buffers as a graph: what the network reads, one topology for N candidates.

Nodes are loops, statements, accesses (one for each read and each write of a statement) and buffers.
Sizes are base-2 logarithms, so that a network can multiply by adding; what depends on the chip is
relative to it (a buffer's share of its memory, an access's time at the chip's bandwidth), so that
it means the same on a chip that was never seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pruner.features import FEATURE_NAMES

Floats32 = NDArray[np.float32]
Edges = NDArray[np.int64]  # (2, e): sources, destinations
NodeKind = Literal["loop", "statement", "access", "buffer"]

LOOP_KINDS = ("serial", "unroll", "vectorize", "parallel", "vthread", "tile", "block", "thread")
ROLES = ("copy", "init", "compute")
SCOPES = (
    "global", "local", "shared", "l1", "l0a", "l0b", "l0c", "ub", "sram", "nram", "wram",
)  # fmt: skip

NODE_FEATURES: Mapping[NodeKind, tuple[str, ...]] = {
    "loop": ("log_extent", "reduction", *(f"kind_{k}" for k in LOOP_KINDS)),
    "statement": (
        "log_executions", "log_blocks", "log_threads", "log_reduction", "log_macs", "log_alu",
        "log_special", "log_intrin_m", "log_intrin_n", "log_intrin_k", "log_lanes", "cooperative",
        "log_stages", "log_pipeline", "log_dealt_to", *(f"role_{r}" for r in ROLES),
    ),
    "access": (
        "write", "log_elements", "log_distinct", "log_reuse", "log_inner_reuse", "log_unit_run",
        "log_bytes", "log_share_of_least",
    ),
    "buffer": (
        "log_bytes", "log_bits", "log_capacity_share", "log_row_pad",
        *(f"scope_{s}" for s in SCOPES),
    ),
}  # fmt: skip

# (what it means, source kind, destination kind); each is followed in both directions.
RELATIONS: tuple[tuple[str, NodeKind, NodeKind], ...] = (
    ("nests", "loop", "loop"),  # the next loop inwards
    ("encloses", "loop", "statement"),
    ("indexes", "loop", "access"),
    ("performed_by", "access", "statement"),
    ("touches", "access", "buffer"),
)

CHIP_FEATURES = (
    "log_cores", "log_matrix_macs_per_us", "log_macs_per_us", "log_offchip_bytes_per_us",
    "log_cache_bytes", "log_cache_over_offchip", "log_launch_us", "caches",
)  # fmt: skip
WHOLE_FEATURES = (*CHIP_FEATURES, *(f"kernel_{name}" for name in FEATURE_NAMES))


@dataclass(frozen=True)
class Graph:
    """``n`` candidates of one topology.

    ``nodes``: by kind ``(n, nodes, features)``; ``edges``: by relation ``(2, e)`` node numbers;
    ``whole`` ``(n, len(WHOLE_FEATURES))`` the chip and the 38 features of the kernel;
    ``log_least_us`` ``(n,)`` logarithm of the latency that the chip's peaks allow at best.
    """

    n: int
    nodes: Mapping[NodeKind, Floats32]
    edges: Mapping[str, Edges]
    whole: Floats32
    log_least_us: NDArray[np.float64]

    def take(self, rows: NDArray[np.int64]) -> Graph:
        """The candidates at ``rows``."""
        nodes = {kind: values[rows] for kind, values in self.nodes.items()}
        return Graph(len(rows), nodes, self.edges, self.whole[rows], self.log_least_us[rows])


def node_kinds() -> tuple[NodeKind, ...]:
    """The kinds of nodes in the order of the network's readout."""
    return get_args(NodeKind)
