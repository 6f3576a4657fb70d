"""The loops and blocks of a scheduled program, one list of blocks for each launched kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tvm import prim, tirx
from tvm.s_tir import SBlockRealize

from tuner.tir.radix import Unsupported

# tvm.tirx.ForKind
_KINDS = {0: "serial", 1: "parallel", 2: "vectorize", 3: "unroll"}
_THREAD_BINDING = 4

REDUCTION = 2  # tvm.tirx.IterVar.CommReduce


@dataclass(frozen=True, eq=False)
class Loop:
    """One ``For``: ``kind`` is a :data:`tuner.nest.Kind`; ``name`` is unique in the program."""

    name: str
    kind: str
    extent: int
    variable: int
    annotations: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Block:
    """One innermost block (or one whole tensorized block) below its loops, outermost first.

    ``stages_of`` maps a pipelined loop's name to the position of this block among its children.
    """

    realize: Any
    loops: tuple[Loop, ...]
    child: dict[str, int]

    @property
    def block(self) -> Any:
        """The ``SBlock``."""
        return self.realize.block

    @property
    def name(self) -> str:
        """Name of the block."""
        return str(self.realize.block.name_hint)


@dataclass(frozen=True)
class Program:
    """What :func:`read` finds: blocks by kernel, allocated buffers, annotations of the root."""

    kernels: tuple[tuple[Block, ...], ...]
    allocated: tuple[Any, ...]
    annotations: dict[str, Any]


def read(func: Any) -> Program:
    """Walk a scheduled ``PrimFunc``; each nest at the top of the root block is one kernel."""
    root = func.body.block
    walker = _Walker(list(root.alloc_buffers))
    nests = root.body.seq if isinstance(root.body, tirx.SeqStmt) else [root.body]
    kernels = tuple(tuple(walker.blocks(nest, (), {})) for nest in nests)
    return Program(kernels, tuple(walker.allocated), dict(root.annotations))


class _Walker:
    def __init__(self, allocated: list[Any]) -> None:
        self.allocated = allocated
        self._count = 0

    def blocks(self, stmt: Any, loops: tuple[Loop, ...], child: dict[str, int]) -> Iterator[Block]:
        if isinstance(stmt, tirx.For):
            loop = self._loop(stmt)
            parts = stmt.body.seq if isinstance(stmt.body, tirx.SeqStmt) else [stmt.body]
            for i, part in enumerate(parts):
                yield from self.blocks(part, (*loops, loop), {**child, loop.name: i})
        elif isinstance(stmt, SBlockRealize):
            yield from self._realize(stmt, loops, child)
        elif isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                yield from self.blocks(part, loops, child)
        else:
            raise Unsupported(f"statement {type(stmt).__name__} outside of a block")

    def _realize(
        self, stmt: Any, loops: tuple[Loop, ...], child: dict[str, int]
    ) -> Iterator[Block]:
        block = stmt.block
        self.allocated.extend(block.alloc_buffers)
        if len(block.iter_vars) or isinstance(block.body, tirx.BufferStore):
            yield Block(stmt, loops, child)
        else:
            yield from self.blocks(block.body, loops, child)

    def _loop(self, stmt: Any) -> Loop:
        if not isinstance(stmt.extent, prim.IntImm):
            raise Unsupported(f"loop {stmt.loop_var.name}: extent {stmt.extent} is not constant")
        self._count += 1
        name = f"{stmt.loop_var.name}#{self._count}"
        handle = stmt.loop_var.__chandle__()
        return Loop(name, _kind(stmt), stmt.extent.value, handle, dict(stmt.annotations))


def _kind(stmt: Any) -> str:
    if stmt.kind == _THREAD_BINDING:
        tag = str(stmt.thread_binding.thread_tag)
        return "vthread" if tag.startswith("vthread") else tag
    return _KINDS[stmt.kind]
