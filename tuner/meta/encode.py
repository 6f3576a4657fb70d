"""From the loop nest of N candidates to the graph that the network reads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.table import KernelTable
from pruner.machine import machine_of
from pruner.meta.graph import LOOP_KINDS, RELATIONS, ROLES, Edges, Floats32, Graph, NodeKind
from pruner.meta.whole import whole
from tuner.meta.accesses import access_columns, buffer_columns, log2, log_extent
from tuner.nest import Access, Digit, Nest, Statement

Column = NDArray[np.float64]


def graph(nest: Nest, table: KernelTable, chip: Chip) -> Graph:
    """The graph of the candidates of a nest, whose kernels are those of ``table``."""
    parts, log_least = whole(table, chip)
    rate = machine_of(chip).offchip_bytes_per_us
    statements = [s for kernel in nest.kernels for s in kernel]
    digits = {d.name: d for s in statements for d in s.digits}
    accesses = [(s, a, a is s.write) for s in statements for a in (*s.reads, s.write)]
    least_bytes = np.exp(log_least) * rate
    nodes: dict[NodeKind, Floats32] = {
        "loop": _stacked([_loop(d, nest.n) for d in digits.values()], nest.n),
        "statement": _stacked([_statement(s, nest.n) for s in statements], nest.n),
        "access": _stacked(
            [access_columns(s, a, w, nest, least_bytes) for s, a, w in accesses], nest.n
        ),
        "buffer": _stacked(
            [buffer_columns(b, chip, nest.n) for b in nest.buffers.values()], nest.n
        ),
    }
    return Graph(nest.n, nodes, _edges(statements, digits, accesses, nest), parts, log_least)


def _stacked(nodes: Sequence[Sequence[Column | float]], n: int) -> Floats32:
    out = np.zeros((n, len(nodes), len(nodes[0])), np.float32)
    for i, columns in enumerate(nodes):
        for j, column in enumerate(columns):
            out[:, i, j] = column
    return out


def _loop(d: Digit, n: int) -> list[Column | float]:
    kind = d.kind.split("Idx")[0]
    return [log2(d.extent), float(d.reduction), *(float(kind == k) for k in LOOP_KINDS)]


def _statement(s: Statement, n: int) -> list[Column | float]:
    blocks = [d for d in s.digits if d.kind.startswith("block")]
    threads = [d for d in s.digits if d.kind.startswith("thread")]
    reduction = [d for d in s.digits if d.reduction]
    optional = (s.stages, s.pipeline_extent, s.dealt_to)
    return [
        *(log_extent(digits, n) for digits in (s.digits, blocks, threads, reduction)),
        *(float(np.log2(1 + count)) for count in (s.ops.macs, s.ops.alu, s.ops.special)),
        *(float(np.log2(size)) for size in s.intrin or (1, 1, 1)),
        log2(1 if s.lanes is None else s.lanes),
        float(s.cooperative),
        *(log2(1 if column is None else column) for column in optional),
        *(float(s.role == role) for role in ROLES),
    ]


def _edges(
    statements: Sequence[Statement],
    digits: dict[str, Digit],
    accesses: Sequence[tuple[Statement, Access, bool]],
    nest: Nest,
) -> dict[str, Edges]:
    loop = {name: i for i, name in enumerate(digits)}
    buffer = {name: i for i, name in enumerate(nest.buffers)}
    number = {id(s): i for i, s in enumerate(statements)}
    pairs: dict[str, list[tuple[int, int]]] = {name: [] for name, _, _ in RELATIONS}
    for i, s in enumerate(statements):
        inside = [loop[d.name] for d in s.digits]
        pairs["encloses"] += [(d, i) for d in inside]
        pairs["nests"] += pairwise(inside)
    for i, (s, access, _) in enumerate(accesses):
        used = {name for dim in access.dims for name in dim if name in loop}
        pairs["indexes"] += [(loop[name], i) for name in sorted(used)]
        pairs["performed_by"].append((i, number[id(s)]))
        pairs["touches"].append((i, buffer[access.buffer]))
    return {name: _array(found) for name, found in pairs.items()}


def _array(pairs: list[tuple[int, int]]) -> Edges:
    """Each edge once: statements share the loops around them."""
    return np.array(sorted(set(pairs)), dtype=np.int64).reshape(-1, 2).T
