"""The loop nest of N candidates of one sketch: what both roads to a kernel table produce.

The first road (:mod:`tuner.tir`) reads one scheduled program (columns of length 1), the second
(:mod:`tuner.columns`) evaluates a sketch over a matrix of decisions (columns of length N).
:mod:`tuner.summary` turns either into a :class:`hwsim.table.KernelTable`.

A loop is a list of **digits**: a fused loop is several digits of one kind, outermost first, so that
every access stays affine.  ``blockIdx.x`` extent is the product of the digits of that kind.

What the two roads may do differently, because the summary does not see it: names of digits and
statements, digits of extent 1 (but vectorised and thread loops), a block, thread or tile digit
written as several (same kind, same order, each coefficient that of the part times what lies below
it), coefficients of 0 present or absent, constant offsets.
What has to agree: the order of statements and buffers' shapes, the order of the digits of a
statement, the order of its reads, and that digits shared by two statements have one name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

IntColumn = NDArray[np.int64]
Kind = Literal[
    "serial", "unroll", "vectorize", "parallel", "vthread", "tile",
    "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
]  # fmt: skip


@dataclass(frozen=True)
class Digit:
    """One loop digit of ``extent`` ``(n,)``; ``reduction``: it belongs to a reduction axis."""

    name: str
    kind: Kind
    extent: IntColumn
    reduction: bool = False


@dataclass(frozen=True)
class Split:
    """A quasi-affine term ``scale * ((sum coefs * digits) // div % mod)``; ``mod`` 0: no modulus.

    Only where a loop is cut across its digits (a fused index of 256 x 1000 bound to 512 threads);
    everything that can be written as digits with coefficients is.
    """

    coefs: Mapping[str, IntColumn]
    div: IntColumn
    mod: IntColumn
    scale: IntColumn


@dataclass(frozen=True)
class Access:
    """One buffer access: for each dimension, digit name -> coefficient ``(n,)`` in elements.

    ``extent`` is, for each dimension, what one execution touches beyond the digits (a tensor
    intrinsic touches a 16x16 tile: ``(16, 16)``); ones for a scalar access.  ``splits`` holds the
    quasi-affine terms of each dimension; empty where there are none at all.  Padding that was
    inlined (``if_then_else`` around the load) is not seen: the access reaches over the edge and
    the summary clips it to the buffer.
    """

    buffer: str
    dims: tuple[Mapping[str, IntColumn], ...]
    extent: tuple[IntColumn, ...]
    splits: tuple[tuple[Split, ...], ...] = ()


# What becomes of the values read: summed up over the reduction (or something computed from them is:
# total), added to each other, moved or chosen from (them and 0), or anything else.
Effect = Literal["sum", "total", "add", "select", "unknown"]


@dataclass(frozen=True)
class Ops:
    """Operations of one execution of a statement (one element, or one intrinsic call).

    ``effect`` is about statements without MACs.  ``term``: dtype in which a product (or a summand)
    is computed before it is added; empty: that of the accumulator.
    """

    macs: int = 0
    alu: int = 0
    special: int = 0
    effect: Effect = "unknown"
    term: str = ""


@dataclass(frozen=True)
class Statement:
    """One block of the scheduled program.

    ``role``: ``copy`` moves elements unchanged (padding with a constant included), ``init`` writes
    a constant, all else is ``compute``.  An init that TVM has split off a reduction is left out:
    registers are cleared for free beside the loads.

    ``digits`` are all enclosing digits, outermost first.  ``cooperative``: the threads of the block
    share the copy, so that its ``digits`` hold the loops around it and then the tile (kind
    ``"tile"``: a digit for each dimension of the region, before it is cut into threads and lanes),
    but neither threadIdx nor vthread.

    ``reads`` of a multiply-accumulate are A, then B, then the rest; the accumulator that a
    reduction reads back is not listed.  Each buffer is listed once.

    ``intrin``: rows, columns, reduction of one tensor intrinsic call.  ``lanes``: vector width of
    the copy in elements (after RewriteCooperativeFetch: 1 where the annotated width does not divide
    the tile).  ``stages``: copies of the written buffer that are kept, by a software pipeline or
    by the buffer count that any block writing it is annotated with, a split-off init too
    (None: 1).  ``pipeline_extent``: extent of the software-pipelined loop around
    (None or 0: none); TVM's verifier refuses 1.  ``thread_bounds``: what
    ``meta_schedule.thread_extent_{low,high}_inclusive`` demand of the threads, (0, 0): nothing.
    ``dealt_to``: cores (or clusters) that the blockIdx iterations around are dealt to, by the
    annotation of their loop (None: each iteration is launched by itself).
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
    stages: IntColumn | None = None
    pipeline_extent: IntColumn | None = None
    thread_bounds: tuple[int, int] = (0, 0)
    dealt_to: IntColumn | None = None


@dataclass(frozen=True)
class Buffer:
    """A buffer: ``shape`` is what is allocated after compaction, a column for each dimension.

    Of an argument (scope ``global``, not allocated) it is the whole tensor.  ``stages`` of the
    statement that writes it are not part of the shape, nor are virtual threads, nor the padding of
    ``storage_align``, which is ``row_pad``: elements added to each row of the last dimension.
    """

    name: str
    scope: str
    dtype: str
    shape: tuple[IntColumn, ...]
    row_pad: IntColumn | None = None


@dataclass(frozen=True)
class Nest:
    """The loop nest of ``n`` candidates.

    ``kernels`` holds the separately launched kernels in order, each its statements in program
    order; ``unroll`` the explicit unroll limit; ``flops`` and ``macs`` the useful operations and
    multiply-accumulates of the workload, ``reduction`` how many of the latter its longest sum has
    (0: not known).  ``notes``: ``parallel`` and ``vectorize``, the limits
    that TVM's LLVM postprocessors have yet to apply.
    """

    n: int
    kernels: tuple[tuple[Statement, ...], ...]
    buffers: Mapping[str, Buffer]
    unroll: IntColumn
    flops: float
    macs: float = 0.0
    reduction: int = 0
    notes: Mapping[str, IntColumn] = field(default_factory=dict)
