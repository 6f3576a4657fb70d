"""From analysed blocks to a :class:`tuner.nest.Nest` with columns of length 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isqrt, prod
from typing import Any

import numpy as np

from tuner.nest import Access, Buffer, Digit, IntColumn, Nest, Ops, Split, Statement
from tuner.tir.compact import compacted
from tuner.tir.pipeline import Pipelined, pipelines
from tuner.tir.program import Analysed, Region, analyse
from tuner.tir.radix import Quasi, Radix, Unsupported
from tuner.tir.walk import Program, read

_UNROLL = "meta_schedule.unroll_explicit"
_UNROLL_PRAGMA = "pragma_auto_unroll_max_step"
_LIMIT, _LIMITS = "meta_schedule.", ("parallel", "vectorize")
_BUFFERS = "prunelab.buffers"
_CORES = "prunelab.cores"
_ALIGN = "buffer_dim_align"
_LOW, _HIGH = (f"meta_schedule.thread_extent_{end}_inclusive" for end in ("low", "high"))


def column(value: int) -> IntColumn:
    """A column of length 1."""
    return np.array([value], dtype=np.int64)


def nest_of(
    sch: Any, workload_flops: float, workload_macs: float = 0.0, reduction: int = 0
) -> Nest:
    """The loop nest of one scheduled program, before or after the postprocessors.

    Parameters
    ----------
    sch:
        A ``tvm.s_tir.Schedule`` of a module with one function.
    workload_flops, workload_macs, reduction:
        Useful operations and multiply-accumulates of the workload, and how many of the latter its
        longest sum has (0: not known).

    Raises
    ------
    Unsupported
        The program holds something that the analysis cannot read; the message names it.
    """
    (func,) = sch.mod.functions.values()
    program = read(func)
    radix = Radix()
    written = [[analyse(b, radix) for b in k] for k in program.kernels]
    kernels = [_without_inits(blocks) for blocks in written]
    names = _BufferNames(program)
    builder = _Builder(radix, names, kernels, _buffer_counts(written))
    statements = tuple(builder.kernel(k) for k in kernels)
    return Nest(
        n=1,
        kernels=statements,
        buffers=builder.buffers(),
        unroll=column(_unroll(program)),
        flops=float(workload_flops),
        macs=float(workload_macs),
        reduction=reduction,
        notes=_limits(program),
    )


def _limits(program: Program) -> dict[str, IntColumn]:
    """How far TVM's LLVM postprocessors may make loops parallel and vectorise them."""
    found = ((limit, program.annotations.get(_LIMIT + limit)) for limit in _LIMITS)
    return {limit: column(int(value)) for limit, value in found if value is not None}


def _without_inits(blocks: list[Analysed]) -> list[Analysed]:
    """Drop the initialisations that TVM has split off reductions."""
    computed = [b for b in blocks if b.body.role == "compute"]
    return [
        b
        for b in blocks
        if b.body.role != "init"
        or not any(c.write.buffer.same_as(b.write.buffer) for c in computed)
    ]


def _buffer_counts(kernels: Sequence[Sequence[Analysed]]) -> dict[int, int]:
    """Buffer handle -> versions that annotations ask for."""
    out: dict[int, int] = {}
    for block in (b for kernel in kernels for b in kernel):
        count = block.source.block.annotations.get(_BUFFERS)
        if count is not None:
            out[block.write.buffer.__chandle__()] = int(count)
    return out


def _unroll(program: Program) -> int:
    step = int(program.annotations.get(_UNROLL, 0))
    loops = (loop for kernel in program.kernels for block in kernel for loop in block.loops)
    return max([step, *(int(loop.annotations.get(_UNROLL_PRAGMA, 0)) for loop in loops)])


class _BufferNames:
    """A unique name for each buffer, and whether the program allocates it."""

    def __init__(self, program: Program) -> None:
        self.allocated = {b.__chandle__() for b in program.allocated}
        self._names: dict[int, str] = {}

    def of(self, buffer: Any) -> str:
        handle = buffer.__chandle__()
        if handle not in self._names:
            name = str(buffer.name)
            taken = set(self._names.values())
            self._names[handle] = name if name not in taken else f"{name}.{len(taken)}"
        return self._names[handle]


class _Builder:
    def __init__(
        self,
        radix: Radix,
        names: _BufferNames,
        kernels: Sequence[Sequence[Analysed]],
        counts: Mapping[int, int],
    ) -> None:
        self._counts = counts
        self._radix = radix
        self._names = names
        self._all = [b for kernel in kernels for b in kernel]
        reduced = {d for b in self._all for d in b.reduced}
        self._reduced = {leaf for d in reduced for leaf in radix.leaves(d)}

    def kernel(self, blocks: Sequence[Analysed]) -> tuple[Statement, ...]:
        pipelined = pipelines(blocks)
        return tuple(self._statement(b, pipelined.get(i)) for i, b in enumerate(blocks))

    def _statement(self, block: Analysed, pipelined: Pipelined | None) -> Statement:
        ops, intrin = _matrix(block)
        notes = block.source.block.annotations
        return Statement(
            name=block.source.name,
            role=block.body.role,
            digits=tuple(self._digits(block)),
            reads=tuple(self._access(r) for r in block.reads),
            write=self._access(block.write),
            ops=ops,
            intrin=intrin,
            lanes=column(_lanes(block)),
            cooperative=block.shared_copy is not None,
            stages=self._stages(block, pipelined),
            pipeline_extent=None if pipelined is None else column(pipelined.extent),
            thread_bounds=(int(notes.get(_LOW, 0)), int(notes.get(_HIGH, 0))),
            dealt_to=_dealt_to(block),
        )

    def _stages(self, block: Analysed, pipelined: Pipelined | None) -> IntColumn | None:
        counted = self._counts.get(block.write.buffer.__chandle__())
        if counted is None and pipelined is None:
            return None
        return column(max(counted or 1, 1 if pipelined is None else pipelined.versions))

    def _digits(self, block: Analysed) -> Iterable[Digit]:
        for loop in block.loops:
            own = loop.kind.startswith("threadIdx") or loop.kind == "vthread"
            if not (own and block.shared_copy is not None):
                yield from self._leaves(loop.name, loop.kind)
        if block.shared_copy is not None:
            yield from self._leaves(block.shared_copy.tile, "tile")

    def _leaves(self, name: str, kind: Any) -> Iterable[Digit]:
        for leaf in self._radix.leaves(name):
            extent = column(self._radix.extent(leaf))
            yield Digit(leaf, kind, extent, leaf in self._reduced)

    def _access(self, region: Region) -> Access:
        dims = tuple(self._coefs(form.terms) for form in region.corner)
        splits = tuple(tuple(self._split(q) for q in form.quasi) for form in region.corner)
        extent = tuple(column(e) for e in region.extent)
        return Access(self._names.of(region.buffer), dims, extent, splits if any(splits) else ())

    def _coefs(self, terms: Mapping[str, int]) -> dict[str, IntColumn]:
        return {d: column(c) for d, c in self._radix.expand(terms).items()}

    def _split(self, q: Quasi) -> Split:
        return Split(self._coefs(q.terms), column(q.div), column(q.mod), column(q.scale))

    def buffers(self) -> dict[str, Buffer]:
        """Every accessed buffer in the order of first access."""
        users: dict[int, list[Analysed]] = {}
        found: dict[int, Any] = {}
        for block in self._all:
            for region in (*block.reads, block.write):
                handle = region.buffer.__chandle__()
                found[handle] = region.buffer
                users.setdefault(handle, []).append(block)
        return {self._names.of(b): self._buffer(b, users[h]) for h, b in found.items()}

    def _buffer(self, buffer: Any, users: Sequence[Analysed]) -> Buffer:
        handle = buffer.__chandle__()
        scope = str(buffer.scope())
        if handle in self._names.allocated:
            shape = compacted(scope, users, handle, self._radix)
        else:
            shape = tuple(int(e.value) for e in buffer.shape)
        pad = _row_pad(handle, shape, users)
        columns = tuple(column(e) for e in shape)
        return Buffer(self._names.of(buffer), scope, str(buffer.dtype), columns, column(pad))


def _row_pad(handle: int, shape: Sequence[int], users: Sequence[Analysed]) -> int:
    """Elements that ``storage_align`` adds to each row, by the writer's annotation.

    ``[buffer, axis, factor, offset]`` asks for a stride of ``axis`` that is ``offset`` modulo
    ``factor``.
    """
    for user in users:
        if user.write.buffer.__chandle__() == handle:
            for _, axis, factor, offset in user.source.block.annotations.get(_ALIGN, ()):
                stride = prod(shape[int(axis) + 1 :])
                return (int(offset) - stride) % int(factor)
    return 0


def _dealt_to(block: Analysed) -> IntColumn | None:
    for loop in block.loops:
        if _CORES in loop.annotations:
            return column(int(loop.annotations[_CORES]))
    return None


def _lanes(block: Analysed) -> int:
    if block.shared_copy is not None:
        return block.shared_copy.lanes
    return prod(loop.extent for loop in block.loops if loop.kind == "vectorize")


def _matrix(block: Analysed) -> tuple[Ops, tuple[int, int, int] | None]:
    """Operations and shape of a tensorized multiply-accumulate, from the regions' sizes.

    A is m x k, B is k x n and C is m x n in whatever layout, so that ``m^2 = |A| |C| / |B|``.
    """
    ops = block.body.ops
    if not block.body.matrix and ops.macs <= 1:
        return ops, None
    if len(block.reads) < 2:
        raise Unsupported(f"block {block.source.name}: a matrix block reads {len(block.reads)}")
    a, b, c = (prod(r.extent) for r in (block.reads[0], block.reads[1], block.write))
    m, n, k = isqrt(a * c // b), isqrt(b * c // a), isqrt(a * b // c)
    return Ops(macs=m * n * k, alu=ops.alu, special=ops.special), (m, n, k)
