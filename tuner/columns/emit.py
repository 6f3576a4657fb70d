"""From an interpreted program to the nest of N candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from tuner import nest
from tuner.columns.compact import compacted, row_pad
from tuner.columns.expr import ONE, Evaluator, Expr, const, divisor_or_one, minimum, mul
from tuner.columns.placement import is_thread
from tuner.columns.program import (
    Block,
    Digit,
    Loop,
    Program,
    Quasi,
    Region,
    Unsupported,
    over_digits,
)
from tuner.decisions import IntMatrix

_FETCH = "meta_schedule.cooperative_fetch"
_UNROLL = "meta_schedule.unroll_explicit"
_PIPELINE = "software_pipeline_stage"


@dataclass(frozen=True)
class _Access:
    """A region over digits: for each dimension digit names and coefficients."""

    buffer: str
    dims: tuple[Mapping[str, Expr], ...]
    extent: tuple[Expr, ...]
    quasi: tuple[tuple[tuple[Mapping[str, Expr], Quasi], ...], ...]


@dataclass(frozen=True)
class _Statement:
    """A statement with expressions for columns; ``model`` gives what no decision changes."""

    model: nest.Statement
    digits: tuple[tuple[str, str, Expr, bool], ...]
    reads: tuple[_Access, ...]
    write: _Access
    lanes: Expr
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
        stages=None if s.model.stages is None else of(const(int(s.model.stages[0]))),
        pipeline_extent=None if s.pipeline_extent is None else of(s.pipeline_extent),
    )


def _access(a: _Access, of: Evaluator) -> nest.Access:
    dims = tuple({d: of(c) for d, c in dim.items()} for dim in a.dims)
    splits = tuple(tuple(_split(c, q, of) for c, q in dim) for dim in a.quasi)
    return nest.Access(a.buffer, dims, tuple(map(of, a.extent)), splits if any(splits) else ())


def _split(coefs: Mapping[str, Expr], q: Quasi, of: Evaluator) -> nest.Split:
    columns = {d: of(c) for d, c in coefs.items()}
    return nest.Split(columns, of(const(q.div)), of(const(q.mod)), of(q.scale))


def _buffer(model: nest.Buffer, shape: Sequence[Expr], pad: Expr, of: Evaluator) -> nest.Buffer:
    return replace(model, shape=tuple(map(of, shape)), row_pad=of(pad))


def template(program: Program, model: nest.Nest) -> Template:
    """Fill a program's expressions into ``model``, the nest of any one candidate of the sketch.

    Raises
    ------
    Unsupported
        Program and model do not have the same statements, reads or buffers.
    """
    names = _Names()
    kernels = tuple(
        tuple(_statement(s, program.block(s.name), names) for s in kernel)
        for kernel in model.kernels
    )
    buffers = tuple(_allocation(program, b) for b in model.buffers.values())
    unroll = program.root.annotations.get(_UNROLL, const(0))
    return Template(model, kernels, buffers, unroll)


class _Names:
    """A unique name for each digit."""

    def __init__(self) -> None:
        self._of: dict[Digit, str] = {}

    def __call__(self, digit: Digit) -> str:
        return self._of.setdefault(digit, f"{digit.name}#{len(self._of)}")


def _statement(model: nest.Statement, block: Block, names: _Names) -> _Statement:
    reads = {r.buffer: r for r in block.reads}
    if missing := [r.buffer for r in model.reads if r.buffer not in reads]:
        raise Unsupported(f"block {block.name}: does not read {missing[0]}")
    return _Statement(
        model=model,
        digits=tuple(_digits(model, block, names)),
        reads=tuple(_over(reads[r.buffer], names) for r in model.reads),
        write=_over(block.writes[0], names),
        lanes=_lanes(block),
        pipeline_extent=_pipeline_extent(block),
    )


def _digits(
    model: nest.Statement, block: Block, names: _Names
) -> list[tuple[str, str, Expr, bool]]:
    kinds = [(o, o.kind) for o in block.ancestors()[::-1]]
    if model.cooperative:
        around = [(o, kind) for o, kind in kinds[:-1] if not is_thread(kind)]
        kinds = [*around, (kinds[-1][0], "tile")]
    return [(names(d), kind, d.extent, d.reduction) for o, kind in kinds for d in o.digits]


def _over(region: Region, names: _Names) -> _Access:
    dims = tuple({names(d): c for d, c in over_digits(dim.coefs).items()} for dim in region.dims)
    quasi = tuple(tuple((_inner(q, names), q) for q in dim.quasi) for dim in region.dims)
    return _Access(region.buffer, dims, tuple(d.extent for d in region.dims), quasi)


def _inner(q: Quasi, names: _Names) -> dict[str, Expr]:
    return {names(d): c for d, c in over_digits(q.coefs).items()}


def _lanes(block: Block) -> Expr:
    loops = block.ancestors()
    width = block.annotations.get(_FETCH)
    if width is not None:
        return divisor_or_one(width, _extent(loops[0]))
    return mul(ONE, *(_extent(loop) for loop in loops if loop.kind == "vectorize"))


def _extent(loop: Loop) -> Expr:
    return mul(*(d.extent for d in loop.digits))


def _pipeline_extent(block: Block) -> Expr | None:
    out: Expr | None = None
    for loop in block.ancestors():
        if _PIPELINE in loop.annotations:
            out = _extent(loop) if out is None else minimum(out, _extent(loop))
    return out


def _allocation(program: Program, model: nest.Buffer) -> tuple[nest.Buffer, tuple[Expr, ...], Expr]:
    buffer = program.buffers.get(model.name)
    if buffer is None or buffer.scope != model.scope:
        raise Unsupported(f"buffer {model.name}: not in the program")
    uses = [
        (block, region)
        for block in program.root.blocks()
        for region in (*block.reads, *block.writes)
        if region.buffer == buffer.name
    ]
    shape = buffer.shape if buffer.argument else compacted(buffer, uses)
    return model, shape, row_pad(buffer, shape)
