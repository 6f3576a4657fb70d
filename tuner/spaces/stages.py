"""What the vector sketches need to know of a program: its stages and its parallel dimensions.

Everything here looks at a copy of the schedule, so that the trace holds no query.
"""

from __future__ import annotations

from typing import Any

from tvm.s_tir import Schedule
from tvm.tirx import Var
from tvm.tirx.analysis import undefined_vars


def blocks(sch: Schedule) -> list[Any]:
    """The ``SBlock`` nodes of the program in program order."""
    probe = sch.copy()
    return [probe.get(block) for block in probe.get_child_blocks(probe.get_sblock("root"))]


def is_reduction(block: Any) -> bool:
    """Whether ``block`` accumulates over an axis."""
    return any(it.iter_type == it.CommReduce for it in block.iter_vars)


def consumers(sch: Schedule, block: Any) -> int:
    """How many blocks read what ``block`` writes."""
    return sum(readers(sch, write.source) for write in block.writes)


def readers(sch: Schedule, buffer: Any) -> int:
    """How many blocks read ``buffer``, accumulators that read themselves not counted."""
    return sum(any(r.source.same_as(buffer) for r in block.reads) for block in blocks(sch))


def has_static_region(block: Any, read: Any) -> bool:
    """Whether what ``block`` reads depends on nothing but its iteration variables."""
    own = {it.var.name for it in block.iter_vars}
    used = [v.name for r in read.region for e in (r.min, r.extent) for v in undefined_vars(e)]
    return own.issuperset(used)


def inline_elementwise(sch: Schedule, keep_shared: bool) -> None:
    """Inline every block that computes each element by itself.

    ``keep_shared`` leaves those alone that several blocks read, so that they are computed once.
    """
    for name in [block.name_hint for block in blocks(sch)]:
        block = next(b for b in blocks(sch) if b.name_hint == name)
        users = consumers(sch, block)
        if is_reduction(block) or not users or (keep_shared and users > 1):
            continue
        sch.compute_inline(sch.get_sblock(name))


def parallel_dims(stages: list[Any], output: Any) -> list[bool]:
    """For each dimension of the output, whether every stage has it and none reduces over it.

    ``stages`` are in program order.  A dimension is followed from the output's index variables
    through the accesses to the stages; an index that is no plain variable loses it.
    """
    everything: list[int | None] = list(range(len(output.writes[0].region)))
    carried = {output.writes[0].source.name: everything}
    kept = set(everything)
    for block in (output, *reversed(stages)):
        dims = carried[block.writes[0].source.name]
        kept &= set(dims)
        _carry(block, dims, carried)
    return [dim in kept for dim in everything]


def _carry(block: Any, dims: list[int | None], carried: dict[str, list[int | None]]) -> None:
    """Note which output dimension indexes each dimension of each buffer that ``block`` reads."""
    of_var = {
        r.min.name: dim
        for r, dim in zip(block.writes[0].region, dims, strict=True)
        if isinstance(r.min, Var)
    }
    for read in block.reads:
        found = [of_var.get(r.min.name) if isinstance(r.min, Var) else None for r in read.region]
        seen = carried.get(read.source.name)
        if seen is not None:
            found = [a if a == b else None for a, b in zip(seen, found, strict=True)]
        carried[read.source.name] = found
