"""The loop nest of N candidates of one sketch: what both roads to a kernel table produce.

The first road (:mod:`tuner.tir`) reads one scheduled program (columns of length 1), the second
(:mod:`tuner.columns`) evaluates a sketch over a matrix of decisions (columns of length N).
:mod:`tuner.summary` turns either into a :class:`hwsim.table.KernelTable`.

A loop is a list of **digits**: a fused loop is several digits of one kind, outermost first, so that
every access stays affine.  ``blockIdx.x`` extent is the product of the digits of that kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

IntColumn = NDArray[np.int64]
Kind = Literal[
    "serial", "unroll", "vectorize", "parallel", "vthread",
    "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
]  # fmt: skip


@dataclass(frozen=True)
class Digit:
    """One loop digit: ``extent`` has shape ``(n,)``; ``reduction``: it belongs to a reduction axis."""

    name: str
    kind: Kind
    extent: IntColumn
    reduction: bool = False


@dataclass(frozen=True)
class Access:
    """One buffer access: for each dimension, digit name -> coefficient ``(n,)`` in elements.

    ``extent`` is, for each dimension, what one execution touches beyond the digits (a tensor
    intrinsic touches a 16x16 tile: ``(16, 16)``); ones for a scalar access.
    """

    buffer: str
    dims: tuple[Mapping[str, IntColumn], ...]
    extent: tuple[IntColumn, ...]


@dataclass(frozen=True)
class Ops:
    """Operations of one execution of a statement (one element, or one intrinsic call)."""

    macs: int = 0
    alu: int = 0
    special: int = 0


@dataclass(frozen=True)
class Statement:
    """One block of the scheduled program.

    ``digits`` are all enclosing digits, outermost first.  ``cooperative``: the threads of the block
    share the copy, so that its ``digits`` hold the tile but no threadIdx of their own.
    ``pipeline_stages``: versions of its target buffer that a software pipeline keeps (1: none).
    """

    name: str
    role: Literal["copy", "init", "compute"]
    digits: tuple[Digit, ...]
    reads: tuple[Access, ...]
    write: Access
    ops: Ops = Ops()
    intrin: tuple[int, int, int] | None = None
    lanes: IntColumn | None = None
    cooperative: bool = False
    pipeline_stages: IntColumn | None = None


@dataclass(frozen=True)
class Buffer:
    """A buffer: ``shape`` is what is allocated after compaction, a column for each dimension."""

    name: str
    scope: str
    dtype: str
    shape: tuple[IntColumn, ...]


@dataclass(frozen=True)
class Nest:
    """The loop nest of ``n`` candidates.

    ``kernels`` holds the separately launched kernels in order, each its statements in program
    order; ``unroll`` the explicit unroll limit; ``flops`` the useful operations of the workload.
    """

    n: int
    kernels: tuple[tuple[Statement, ...], ...]
    buffers: Mapping[str, Buffer]
    unroll: IntColumn
    flops: float
    notes: Mapping[str, IntColumn] = field(default_factory=dict)
