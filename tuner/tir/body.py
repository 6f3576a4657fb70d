"""What a block computes: its role and the operations of one execution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from tvm import prim, tirx
from tvm.ir import Call
from tvm.s_tir import SBlockRealize

from tuner.nest import Ops
from tuner.tir.effect import effect_of, is_load, only_load, summands, uncast
from tuner.tir.radix import Unsupported

Role = Literal["copy", "init", "compute"]

# Counted as special operations: what vector units and SFUs run at a fraction of the add rate.
_SPECIAL = {"exp", "exp2", "log", "tanh", "sqrt", "rsqrt", "sigmoid", "erf", "pow", "sin", "cos"}
_SIMPLE = (prim.Add, prim.Sub, prim.Mul, prim.Max, prim.Min, prim.Select)


@dataclass(frozen=True)
class Body:
    """``role`` as in :class:`tuner.nest.Statement`; ``operands``: handles of A and B of a MAC.

    ``matrix``: a call of the tensor core, whose operands are the block's reads in order and whose
    MACs follow from the regions.
    """

    role: Role
    ops: Ops
    operands: tuple[int, ...] = ()
    matrix: bool = False


def body_of(block: Any) -> Body:
    """Classify a block; inner loops of a tensorized block are counted with their extents.

    Raises
    ------
    Unsupported
        A statement that is neither a store, a known matrix call, nor loops and blocks around them.
    """
    return _body(block.body)


def _body(stmt: Any) -> Body:
    if isinstance(stmt, tirx.BufferStore):
        return _store(stmt)
    if isinstance(stmt, tirx.For):
        return _times(_body(stmt.body), stmt.extent.value)
    if isinstance(stmt, SBlockRealize):
        return _body(stmt.block.body)
    if isinstance(stmt, tirx.Evaluate):
        return _call(stmt.value)
    if isinstance(stmt, tirx.SeqStmt):
        return _strongest([_body(part) for part in stmt.seq])
    raise Unsupported(f"statement {type(stmt).__name__} in a block")


def _times(body: Body, n: int) -> Body:
    o = body.ops
    ops = replace(o, macs=o.macs * n, alu=o.alu * n, special=o.special * n)
    return Body(body.role, ops, body.operands, body.matrix)


def _strongest(parts: list[Body]) -> Body:
    macs, alu, special = (sum(getattr(p.ops, k) for p in parts) for k in ("macs", "alu", "special"))
    main = max(parts, key=lambda p: (p.role == "compute", p.role == "copy"))
    ops = replace(main.ops, macs=macs, alu=alu, special=special)
    return Body(main.role, ops, main.operands, main.matrix)


def _call(call: Any) -> Body:
    name = str(call.op.name).removeprefix("tirx.").removeprefix("tir.")
    if name == "tvm_mma_sync":
        return Body("compute", Ops(), matrix=True)
    if name in ("tvm_load_matrix_sync", "tvm_store_matrix_sync"):
        return Body("copy", Ops(effect="select"))
    if name == "tvm_fill_fragment":
        return Body("init", Ops())
    raise Unsupported(f"call of {name} in a block")


def _store(store: Any) -> Body:
    value = uncast(store.value)
    product = _accumulated_product(store.buffer, value)
    if product is not None:
        handles, term = product
        return Body("compute", Ops(macs=1, term=term), handles)
    count = _Count()
    count.visit(store.value)
    effect = effect_of(store.buffer, value)
    if count.alu or count.special:
        return Body("compute", Ops(alu=count.alu, special=count.special, effect=effect))
    return Body("copy" if count.loads else "init", Ops(effect=effect))


def _accumulated_product(buffer: Any, value: Any) -> tuple[tuple[int, ...], str] | None:
    """Handles of A and B where the value is ``buffer + A * B`` (casts ignored), and the dtype in
    which they are multiplied.
    """
    for term in summands(buffer, value):
        product = uncast(term)
        if isinstance(product, prim.Mul):
            factors = [uncast(product.a), uncast(product.b)]
            handles = [h for f in factors if (h := only_load(f)) is not None]
            if len(set(handles)) == 2:  # a square is no product of two operands
                return tuple(handles), str(product.ty)
    return None


class _Count:
    """Operations on values (index arithmetic and padding conditions are not counted)."""

    def __init__(self) -> None:
        self.alu = self.special = self.loads = 0

    def visit(self, expr: Any) -> None:
        if is_load(expr):
            self.loads += 1
        elif isinstance(expr, prim.Cast):
            self.alu += 1
            self.visit(expr.value)
        elif isinstance(expr, prim.Div):
            self.special += 1
            self._both(expr)
        elif isinstance(expr, prim.Select):
            self.alu += 1
            self.visit(expr.true_value)
            self.visit(expr.false_value)
        elif isinstance(expr, _SIMPLE):
            self.alu += 1
            self._both(expr)
        elif isinstance(expr, Call):
            self._call(expr)

    def _both(self, expr: Any) -> None:
        self.visit(expr.a)
        self.visit(expr.b)

    def _call(self, expr: Any) -> None:
        name = str(expr.op.name).rpartition(".")[2]
        if name == "if_then_else":
            self.visit(expr.args[1])
            self.visit(expr.args[2])
            return
        if name in _SPECIAL:
            self.special += 1
        else:
            self.alu += 1
        for argument in expr.args:
            self.visit(argument)
