"""From an interpreted program to the nest of N candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from tuner import nest
from tuner.columns.compact import Use, compacted, row_pad
from tuner.columns.expr import ONE, Evaluator, Expr, const, divisor_or_one, minimum, mul
from tuner.columns.loops import extent_of
from tuner.columns.placement import is_thread
from tuner.columns.program import Block, Digit, Program, Region, Unsupported
from tuner.columns.radix import Radix
from tuner.decisions import IntMatrix

_FETCH = "meta_schedule.cooperative_fetch"
_UNROLL = "meta_schedule.unroll_explicit"
_BUFFERS = "prunelab.buffers"
_PIPELINE = "software_pipeline_stage"


_Digit = tuple[str, str, Expr, bool]  # name, kind, extent, whether it is a reduction


@dataclass(frozen=True)
class _Access:
    """A region over digits: for each dimension where it starts and how long it is."""

    buffer: str
    dims: tuple[Mapping[str, Expr], ...]
    extent: tuple[Expr, ...]
    splits: tuple[tuple[_Split, ...], ...]


@dataclass(frozen=True)
class _Split:
    coefs: Mapping[str, Expr]
    div: Expr
    mod: Expr
    scale: Expr


@dataclass(frozen=True)
class _Statement:
    """A statement with expressions for columns; ``model`` gives what no decision changes."""

    model: nest.Statement
    digits: tuple[_Digit, ...]
    reads: tuple[_Access, ...]
    write: _Access
    lanes: Expr
    stages: Expr | None
    pipeline_extent: Expr | None


@dataclass(frozen=True)
class Template:
    """A nest with expressions in place of columns."""

    model: nest.Nest
    kernels: tuple[tuple[_Statement, ...], ...]
    buffers: tuple[tuple[nest.Buffer, tuple[Expr, ...], Expr], ...]
    unroll: Expr

    def nest(self, matrix: IntMatrix) -> nest.Nest:
        """The nest of the candidates in a decision matrix ``(n, d)``."""
        of = Evaluator(matrix)
        return replace(
            self.model,
            n=len(matrix),
            kernels=tuple(tuple(_filled(s, of) for s in k) for k in self.kernels),
            buffers={b.name: _buffer(b, shape, pad, of) for b, shape, pad in self.buffers},
            unroll=of(self.unroll),
        )


def _filled(s: _Statement, of: Evaluator) -> nest.Statement:
    digits = (nest.Digit(name, cast(Any, kind), of(e), r) for name, kind, e, r in s.digits)
    return replace(
        s.model,
        digits=tuple(digits),
        reads=tuple(_access(r, of) for r in s.reads),
        write=_access(s.write, of),
        lanes=of(s.lanes),
        stages=None if s.stages is None else of(s.stages),
        pipeline_extent=None if s.pipeline_extent is None else of(s.pipeline_extent),
    )


def _access(a: _Access, of: Evaluator) -> nest.Access:
    dims = tuple({d: of(c) for d, c in dim.items()} for dim in a.dims)
    splits = tuple(tuple(_split(s, of) for s in dim) for dim in a.splits)
    return nest.Access(a.buffer, dims, tuple(map(of, a.extent)), splits if any(splits) else ())


def _split(s: _Split, of: Evaluator) -> nest.Split:
    columns = {d: of(c) for d, c in s.coefs.items()}
    return nest.Split(columns, of(s.div), of(s.mod), of(s.scale))


def _buffer(model: nest.Buffer, shape: Sequence[Expr], pad: Expr, of: Evaluator) -> nest.Buffer:
    return replace(model, shape=tuple(map(of, shape)), row_pad=of(pad))


def template(program: Program, model: nest.Nest) -> Template:
    """Fill a program's expressions into ``model``, the nest of any one candidate of the sketch.

    Raises
    ------
    Unsupported
        Program and model do not have the same statements, reads or buffers.
    """
    builder = _Builder(program)
    kernels = tuple(tuple(builder.statement(s) for s in kernel) for kernel in model.kernels)
    buffers = tuple(builder.allocation(b) for b in model.buffers.values())
    unroll = program.root.annotations.get(_UNROLL, const(0))
    return Template(model, kernels, buffers, unroll)


class _Builder:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._radix = Radix()
        self._names: dict[Digit, str] = {}
        self._uses: dict[str, list[Use]] = {}
        found = {b.name: self._block_uses(b) for b in program.root.blocks()}
        self._of_block = {
            name: ([self._final(r) for r in reads], self._final(write))
            for name, (reads, write) in found.items()
        }

    def _block_uses(self, block: Block) -> tuple[list[tuple[str, Use]], tuple[str, Use]]:
        """Resolve a block's regions, the write first: the order decides where digits are cut."""
        write = self._use(block, block.writes[0])
        return [self._use(block, r) for r in block.reads], write

    def _use(self, block: Block, region: Region) -> tuple[str, Use]:
        start = tuple(self._radix.resolve(d.over_digits()) for d in region.dims)
        return region.buffer, Use(block, start, tuple(d.extent for d in region.dims))

    def _final(self, use: tuple[str, Use]) -> tuple[str, Use]:
        buffer, found = use
        final = replace(found, start=tuple(self._radix.final(r) for r in found.start))
        self._uses.setdefault(buffer, []).append(final)
        return buffer, final

    def statement(self, model: nest.Statement) -> _Statement:
        """The statement of a block; what no decision changes comes from ``model``."""
        block = self._program.block(model.name)
        reads, write = self._of_block[model.name]
        by_buffer = dict(reads)
        if missing := [r.buffer for r in model.reads if r.buffer not in by_buffer]:
            raise Unsupported(f"block {block.name}: does not read {missing[0]}")
        return _Statement(
            model=model,
            digits=tuple(self._digits(model, block)),
            reads=tuple(self._over_names(r.buffer, by_buffer[r.buffer]) for r in model.reads),
            write=self._over_names(*write),
            lanes=_lanes(block),
            stages=_stages(model, block),
            pipeline_extent=_pipeline_extent(block),
        )

    def _digits(self, model: nest.Statement, block: Block) -> Iterator[_Digit]:
        kinds = [(o, o.kind) for o in block.ancestors()[::-1]]
        if model.cooperative:
            around = [(o, kind) for o, kind in kinds[:-1] if not is_thread(kind)]
            kinds = [*around, (kinds[-1][0], "tile")]
        for loop, kind in kinds:
            for digit in loop.digits:
                for leaf in self._radix.leaves(digit):
                    yield self._name(leaf), kind, leaf.extent, leaf.reduction

    def _name(self, digit: Digit) -> str:
        return self._names.setdefault(digit, f"{digit.name}#{len(self._names)}")

    def _over_names(self, buffer: str, use: Use) -> _Access:
        dims = tuple(self._named(r.coefs) for r in use.start)
        splits = tuple(
            tuple(_Split(self._named(s.coefs), s.div, s.mod, s.scale) for s in r.splits)
            for r in use.start
        )
        return _Access(buffer, dims, use.extent, splits)

    def _named(self, coefs: Mapping[Digit, Expr]) -> dict[str, Expr]:
        return {self._name(d): c for d, c in coefs.items()}

    def allocation(self, model: nest.Buffer) -> tuple[nest.Buffer, tuple[Expr, ...], Expr]:
        """A buffer with its allocated shape and row padding."""
        buffer = self._program.buffers.get(model.name)
        if buffer is None or buffer.scope != model.scope:
            raise Unsupported(f"buffer {model.name}: not in the program")
        shape = buffer.shape
        if not buffer.argument:
            shape = compacted(buffer, self._uses[model.name], self._radix)
        return model, shape, row_pad(buffer, shape)


def _lanes(block: Block) -> Expr:
    loops = block.ancestors()
    width = block.annotations.get(_FETCH)
    if width is not None:
        return divisor_or_one(width, extent_of(loops[0]))
    return mul(ONE, *(extent_of(loop) for loop in loops if loop.kind == "vectorize"))


def _stages(model: nest.Statement, block: Block) -> Expr | None:
    """Copies of the written buffer: sampled ones, else those of a software pipeline (fixed)."""
    sampled: Expr | None = block.annotations.get(_BUFFERS)
    if sampled is None:
        return None if model.stages is None else const(int(model.stages[0]))
    if _pipeline_extent(block) is not None:
        raise Unsupported(f"block {block.name}: a buffer count inside a software pipeline")
    return sampled


def _pipeline_extent(block: Block) -> Expr | None:
    out: Expr | None = None
    for loop in block.ancestors():
        if _PIPELINE in loop.annotations:
            extent = extent_of(loop)
            out = extent if out is None else minimum(out, extent)
    return out
