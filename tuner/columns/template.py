"""A nest with expressions in place of columns, and its evaluation on a decision matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from tuner.columns.evaluate import Plan
from tuner.columns.node import Expr
from tuner.columns.symbol import integer
from tuner.decisions import IntMatrix
from tuner.nest import Access, Buffer, Digit, Nest, Split, Statement

Values = Callable[[Expr], Any]  # the column of an expression
DigitTemplate = tuple[str, str, Expr, bool]  # name, kind, extent, whether it is a reduction


@dataclass(frozen=True)
class AccessTemplate:
    """A region over digits: for each dimension where it starts and how long it is."""

    buffer: str
    dims: tuple[Mapping[str, Expr], ...]
    extent: tuple[Expr, ...]
    splits: tuple[tuple[SplitTemplate, ...], ...]


@dataclass(frozen=True)
class SplitTemplate:
    """A quasi-affine term; see :class:`tuner.nest.Split`."""

    coefs: Mapping[str, Expr]
    div: Expr
    mod: Expr
    scale: Expr


@dataclass(frozen=True)
class StatementTemplate:
    """A statement with expressions for columns; ``model`` gives what no decision changes."""

    model: Statement
    digits: tuple[DigitTemplate, ...]
    reads: tuple[AccessTemplate, ...]
    write: AccessTemplate
    lanes: Expr
    stages: Expr | None
    pipeline_extent: Expr | None
    dealt_to: Expr | None


@dataclass(frozen=True)
class Template:
    """A nest with expressions in place of columns."""

    model: Nest
    kernels: tuple[tuple[StatementTemplate, ...], ...]
    buffers: tuple[tuple[Buffer, tuple[Expr, ...], Expr], ...]
    unroll: Expr

    def symbolic(self) -> Nest:
        """The nest with symbols for columns."""
        return self._with(integer, 1)

    def nest(self, matrix: IntMatrix) -> Nest:
        """The nest of the candidates in a decision matrix ``(n, d)``."""
        return self._with(self._plan(matrix).__getitem__, len(matrix))

    @cached_property
    def _plan(self) -> Plan:
        needed: dict[Expr, Any] = {}
        self._with(needed.setdefault, 0)
        return Plan(needed)

    def _with(self, of: Values, n: int) -> Nest:
        return replace(
            self.model,
            n=n,
            kernels=tuple(tuple(_filled(s, of) for s in k) for k in self.kernels),
            buffers={b.name: _buffer(b, shape, pad, of) for b, shape, pad in self.buffers},
            unroll=of(self.unroll),
        )


def _filled(s: StatementTemplate, of: Values) -> Statement:
    digits = (Digit(name, cast(Any, kind), of(e), r) for name, kind, e, r in s.digits)
    return replace(
        s.model,
        digits=tuple(digits),
        reads=tuple(_access(r, of) for r in s.reads),
        write=_access(s.write, of),
        lanes=of(s.lanes),
        stages=None if s.stages is None else of(s.stages),
        pipeline_extent=None if s.pipeline_extent is None else of(s.pipeline_extent),
        dealt_to=None if s.dealt_to is None else of(s.dealt_to),
    )


def _access(a: AccessTemplate, of: Values) -> Access:
    dims = tuple({d: of(c) for d, c in dim.items()} for dim in a.dims)
    splits = tuple(tuple(_split(s, of) for s in dim) for dim in a.splits)
    return Access(a.buffer, dims, tuple(map(of, a.extent)), splits if any(splits) else ())


def _split(s: SplitTemplate, of: Values) -> Split:
    columns = {d: of(c) for d, c in s.coefs.items()}
    return Split(columns, of(s.div), of(s.mod), of(s.scale))


def _buffer(model: Buffer, shape: Sequence[Expr], pad: Expr, of: Values) -> Buffer:
    return replace(model, shape=tuple(map(of, shape)), row_pad=of(pad))
