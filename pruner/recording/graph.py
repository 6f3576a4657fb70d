"""The expressions that recorded columns build: nodes in the order in which they were made.

Only operations that IEEE 754 (or integer arithmetic) fixes to the last bit are recorded, so that
an engine that follows the programme arrives at numpy's very numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

KINDS = {np.dtype(bool): "b", np.dtype(np.int64): "i", np.dtype(np.float64): "f"}
DTYPES = {kind: dtype for dtype, kind in KINDS.items()}


class NotRecordable(BaseException):
    """What a rule does that no programme expresses; one line.

    No ``Exception``: a rule that swallows it would go another way than it does over numbers.
    """


@dataclass(frozen=True)
class Node:
    """One value a row.

    ``op`` is ``column`` (``value`` names it), ``constant`` (``value`` is it) or an operation over
    the nodes ``args``; ``kind`` is that of the operation's inputs and ``result`` its output's:
    ``b``, ``i`` (int64) or ``f`` (float64).
    """

    op: str
    kind: str
    result: str
    args: tuple[int, ...] = ()
    value: str | float | int | None = None


@dataclass
class Graph:
    """Nodes, each distinct one once: rules share what they have in common."""

    nodes: list[Node] = field(default_factory=list)
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def add(self, node: Node) -> int:
        """The number of the node; every argument has a lower one."""
        value = node.value if node.op == "column" else repr(node.value)  # -0.0 is not 0.0
        key = (node.op, node.kind, node.result, node.args, value)
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(node)
        return self._known[key]

    def constant(self, value: Any) -> int:
        """A number; ``NotRecordable`` unless it is a bool, an int64 or a float64."""
        kind = kind_of(np.asarray(value).dtype)
        return self.add(Node("constant", kind, kind, value=np.asarray(value).item()))

    def cast(self, index: int, kind: str) -> int:
        """The node as another kind; what numpy would truncate is not recorded."""
        have = self.nodes[index].result
        if have == kind:
            return index
        if "bif".index(have) > "bif".index(kind):
            raise NotRecordable(f"a cast from {DTYPES[have]} to {DTYPES[kind]}")
        return self.add(Node("cast", have, kind, (index,)))


def kind_of(dtype: Any) -> str:
    """``b``, ``i`` or ``f``."""
    kind = KINDS.get(np.dtype(dtype))
    if kind is None:
        raise NotRecordable(f"numbers of type {dtype}")
    return kind
