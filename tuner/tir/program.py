"""Blocks with their accesses as forms over digits, before the digits are final."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tvm import prim

from tuner.tir.affine import evaluate
from tuner.tir.body import Body, body_of
from tuner.tir.joined import Cooperative, cooperative
from tuner.tir.radix import Form, Radix, Unsupported
from tuner.tir.walk import REDUCTION, Block, Loop


@dataclass(frozen=True, eq=False)
class Region:
    """A region of a buffer: lower corner as forms, extents as numbers."""

    buffer: Any
    corner: tuple[Form, ...]
    extent: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Analysed:
    """A block with its regions; ``reduced`` holds the digits of its reduction iterators."""

    source: Block
    body: Body
    reads: tuple[Region, ...]
    write: Region
    reduced: frozenset[str]
    shared_copy: Cooperative | None

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Loops around the block, those of a cooperative copy's tile left out."""
        return self.source.loops if self.shared_copy is None else self.shared_copy.outer

    @property
    def digits(self) -> list[str]:
        """Names of the uncut digits around the block, outermost first."""
        names = [loop.name for loop in self.loops]
        return names if self.shared_copy is None else [*names, self.shared_copy.tile]


def analyse(block: Block, radix: Radix) -> Analysed:
    """Evaluate a block's iterators and regions over the digits of the loops around it."""
    shared_copy = cooperative(block)
    _declare(block, shared_copy, radix)
    env = {loop.variable: Form(0, {loop.name: 1}) for loop in block.loops}
    reduced: set[str] = set()
    iterators = {}
    for var, value in zip(block.block.iter_vars, block.realize.iter_values, strict=True):
        form = evaluate(value, env, radix)
        iterators[var.var.__chandle__()] = form
        if var.iter_type == REDUCTION:
            reduced.update(form.terms, *(q.terms for q in form.quasi))
    if len(block.block.writes) != 1:
        raise Unsupported(f"block {block.name}: writes {len(block.block.writes)} buffers")
    write = _region(block.block.writes[0], iterators, radix)
    body = body_of(block.block)
    reads = _ordered(block.block, body, _regions(block.block.reads, iterators, radix), write)
    return Analysed(block, body, reads, write, frozenset(reduced), shared_copy)


def _declare(block: Block, shared_copy: Cooperative | None, radix: Radix) -> None:
    for loop in block.loops:
        radix.add(loop.name, loop.extent)
    if shared_copy is not None and shared_copy.joined is not None:
        radix.join(shared_copy.joined, shared_copy.extent)


def _regions(regions: Iterable[Any], env: Mapping[int, Form], radix: Radix) -> list[Region]:
    return [_region(r, env, radix) for r in regions]


def _region(region: Any, env: Mapping[int, Form], radix: Radix) -> Region:
    corner, extent = [], []
    for part in region.region:
        if not isinstance(part.extent, prim.IntImm):
            raise Unsupported(f"region {region}: extent {part.extent} is not constant")
        corner.append(evaluate(part.min, env, radix))
        extent.append(int(part.extent.value))
    return Region(region.source, tuple(corner), tuple(extent))


def _ordered(block: Any, body: Body, reads: list[Region], write: Region) -> tuple[Region, ...]:
    """A, B, the rest; without the accumulator."""
    if body.role == "compute":
        reads = [r for r in reads if not r.buffer.same_as(write.buffer)]
    behind = {m.buffer.__chandle__(): m.source.source.__chandle__() for m in block.match_buffers}
    wanted = [behind.get(handle, handle) for handle in body.operands]
    found = [r for h in wanted for r in reads if r.buffer.__chandle__() == h]
    return (*found, *(r for r in reads if not any(r is f for f in found)))
