"""Read a TIR function, before any sampled value went into it, into a :class:`Program`."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.s_tir import SBlockRealize

from tuner.columns.expr import const
from tuner.columns.index import Variables, form_of, integer
from tuner.columns.loops import thread_kind
from tuner.columns.program import (
    Axis,
    Block,
    Buffer,
    Digit,
    Dim,
    Loop,
    Program,
    Region,
    Unsupported,
    unused,
)

_KINDS = {0: "serial", 1: "parallel", 2: "vectorize", 3: "unroll"}  # tvm.tirx.ForKind
_BOUND = 4  # tvm.tirx.ForKind.THREAD_BINDING
_REDUCE = 2  # tvm.tirx.IterVar.CommReduce


class Parser:
    """Reads a ``PrimFunc``; :meth:`node` finds its loops and blocks again by their TIR node.

    Raises
    ------
    Unsupported
        An extent that is no constant, or an index that is not quasi-affine.
    """

    def __init__(self, func: Any) -> None:
        self.program = Program()
        self._buffers: dict[int, str] = {}
        self._digits: dict[int, Digit] = {}
        self._nodes: dict[int, Loop | Block] = {}
        root = func.body.block
        for buffer in func.params:
            self._declare(buffer, argument=True)
        self.program.root.annotations.update(root.annotations)
        self._nodes[root.__chandle__()] = self.program.root
        self._allocate(root)
        self._statement(root.body, self.program.root)

    def node(self, tir: Any) -> Loop | Block | None:
        """The loop or block read from a TIR ``For`` or ``SBlock``; None for an inner block."""
        return self._nodes.get(tir.__chandle__())

    def _declare(self, buffer: Any, argument: bool = False) -> None:
        shape = tuple(const(integer(s, str(buffer.name))) for s in buffer.shape)
        name = unused(self.program, str(buffer.name))
        self._buffers[buffer.__chandle__()] = name
        scope, dtype = str(buffer.scope()), str(buffer.dtype)
        self.program.buffers[name] = Buffer(name, scope, dtype, shape, argument)

    def _allocate(self, block: Any) -> None:
        for buffer in block.alloc_buffers:
            self._declare(buffer)

    def _statement(self, stmt: Any, parent: Loop) -> None:
        if isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                self._statement(part, parent)
        elif isinstance(stmt, tirx.For):
            self._statement(stmt.body, self._loop(stmt, parent))
        elif isinstance(stmt, SBlockRealize):
            self._block(stmt, parent)
        else:
            raise Unsupported(f"statement {type(stmt).__name__} outside of a block")

    def _loop(self, stmt: Any, parent: Loop) -> Loop:
        name = str(stmt.loop_var.name)
        digit = Digit(name, const(integer(stmt.extent, name)))
        loop = Loop(annotations=dict(stmt.annotations), digits=[digit], kind=_kind(stmt))
        self._digits[stmt.loop_var.__chandle__()] = digit
        self._nodes[stmt.__chandle__()] = loop
        parent.insert(len(parent.children), loop)
        return loop

    def _block(self, stmt: Any, parent: Loop) -> None:
        tir = stmt.block
        self._allocate(tir)
        values = zip(tir.iter_vars, stmt.iter_values, strict=True)
        axes = {v.var.__chandle__(): self._axis(v, value) for v, value in values}
        block = Block(
            annotations=dict(tir.annotations),
            name=str(tir.name_hint),
            axes=list(axes.values()),
            reads=[self._region(r, axes) for r in tir.reads],
            writes=[self._region(w, axes) for w in tir.writes],
        )
        self._nodes[tir.__chandle__()] = block
        parent.insert(len(parent.children), block)

    def _axis(self, var: Any, value: Any) -> Axis:
        name = str(var.var.name)
        form = form_of(value, self._digits)
        reduction = int(var.iter_type) == _REDUCE
        for digit in form.variables():
            digit.reduction |= reduction
        return Axis(name, const(integer(var.dom.extent, name)), reduction, form)

    def _region(self, region: Any, axes: Variables) -> Region:
        dims = tuple(_dim(bounds, axes) for bounds in region.region)
        return Region(self._buffers[region.source.__chandle__()], dims)


def _kind(stmt: Any) -> str:
    return thread_kind(stmt.thread_binding.thread_tag) if stmt.kind == _BOUND else _KINDS[stmt.kind]


def _dim(bounds: Any, axes: Variables) -> Dim:
    return Dim(form_of(bounds.min, axes), const(integer(bounds.extent, f"region at {bounds.min}")))
