"""A scheduled program whose extents and coefficients are expressions over decision columns.

The schedule primitives of :mod:`tuner.columns.interpret` change it the way TVM changes its TIR; it
holds what a kernel table needs and no statements' bodies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tuner.columns.expr import ONE, Expr, add, const, mul
from tuner.columns.forms import Form


class Unsupported(ValueError):
    """A sketch that the interpreter does not follow; the message says where it stopped."""


@dataclass(eq=False)
class Digit:
    """One digit of a loop."""

    name: str
    extent: Expr
    reduction: bool = False


Coefs = dict[Digit, Expr]


@dataclass(eq=False)
class Axis:
    """An iteration variable of a block; ``binding``: its value over digits."""

    name: str
    extent: Expr
    reduction: bool
    binding: Form[Digit] = field(default_factory=lambda: Form({}))

    def plain_binding(self) -> Coefs:
        """The binding as coefficients alone; :class:`Unsupported` where it has quotients."""
        if self.binding.quotients:
            raise Unsupported(f"axis {self.name} is bound across the digits of a loop")
        return dict(self.binding.coefs)


@dataclass(frozen=True)
class Dim:
    """One dimension of a region: its start as a form over axes, and its length."""

    start: Form[Axis]
    extent: Expr = ONE

    def over_digits(self) -> Form[Digit]:
        """The start as a form over digits."""
        axes = dict.fromkeys(self.start.variables())
        return self.start.substitute({axis: axis.binding for axis in axes})


@dataclass(frozen=True)
class Region:
    """What a block reads from or writes to a buffer."""

    buffer: str
    dims: tuple[Dim, ...]


@dataclass(eq=False)
class Node:
    """A loop or a block in the program's tree."""

    parent: Loop | None = field(default=None, repr=False)
    annotations: dict[str, Any] = field(default_factory=dict)

    def ancestors(self) -> list[Loop]:
        """Enclosing loops, innermost first (the root is no loop of the program and left out)."""
        out: list[Loop] = []
        at = self.parent
        while at is not None and at.parent is not None:
            out.append(at)
            at = at.parent
        return out


@dataclass(eq=False)
class Loop(Node):
    """A loop: its digits, outermost first; ``kind`` is a :data:`tuner.nest.Kind`."""

    digits: list[Digit] = field(default_factory=list)
    kind: str = "serial"
    children: list[Node] = field(default_factory=list)

    def blocks(self) -> Iterator[Block]:
        """Blocks below, in program order."""
        for child in self.children:
            if isinstance(child, Block):
                yield child
            elif isinstance(child, Loop):
                yield from child.blocks()

    def insert(self, index: int, child: Node) -> None:
        """Make ``child`` the child number ``index``."""
        child.parent = self
        self.children.insert(index, child)


@dataclass(eq=False)
class Block(Node):
    """A block: axes and regions."""

    name: str = ""
    axes: list[Axis] = field(default_factory=list)
    reads: list[Region] = field(default_factory=list)
    writes: list[Region] = field(default_factory=list)

    def digits(self) -> list[tuple[Digit, str]]:
        """Enclosing digits with the kind of their loop, outermost first."""
        return [(d, loop.kind) for loop in reversed(self.ancestors()) for d in loop.digits]


@dataclass(eq=False)
class Buffer:
    """A buffer before compaction; ``align``: axis, factor and offset of ``storage_align``."""

    name: str
    scope: str
    dtype: str
    shape: tuple[Expr, ...]
    argument: bool = False
    align: tuple[int, int, int] | None = None


@dataclass(eq=False)
class Program:
    """The tree under ``root`` (no loop, it stands for the root block) and the buffers by name."""

    root: Loop = field(default_factory=Loop)
    buffers: dict[str, Buffer] = field(default_factory=dict)

    def block(self, name: str) -> Block:
        """The block of that name."""
        for block in self.root.blocks():
            if block.name == name:
                return block
        raise Unsupported(f"block {name}: not in the program")

    def readers(self, buffer: str) -> list[Block]:
        """Blocks that read a buffer, in program order."""
        return [b for b in self.root.blocks() if any(r.buffer == buffer for r in b.reads)]

    def writers(self, buffer: str) -> list[Block]:
        """Blocks that write a buffer, in program order."""
        return [b for b in self.root.blocks() if any(r.buffer == buffer for r in b.writes)]


def unused(program: Program, name: str) -> str:
    """The name, or with a number where a buffer has it already (TVM lets several have one)."""
    taken = [b for b in program.buffers if b.partition(":")[0] == name]
    return f"{name}:{len(taken)}" if taken else name


def remove(node: Node) -> None:
    """Take a node out of the tree, and the loops that it leaves empty."""
    parent = node.parent
    node.parent = None
    while parent is not None:
        parent.children.remove(node)
        if parent.children or parent.parent is None:
            return
        node, parent = parent, parent.parent


def hull(coefs: Mapping[Digit, Expr], inner: Expr = ONE) -> Expr:
    """Length of the range that ``sum coefs * digits + [0, inner)`` covers, coefficients >= 0.

    ``inner + sum coef * (extent - 1)``; a digit whose coefficient is the length so far multiplies
    it, which keeps perfectly nested digits a product.
    """
    width, rest = inner, dict(coefs)
    while rest:
        fits = next((d for d, c in rest.items() if c == width), None)
        if fits is None:
            break
        del rest[fits]
        width = mul(width, fits.extent)
    loose = (mul(c, add(d.extent, const(-1))) for d, c in rest.items())
    return add(width, *loose)
