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


def is_output(sch: Schedule, block: Any) -> bool:
    """Whether ``block`` writes a parameter of the program."""
    params = sch.mod["main"].params
    return any(p.same_as(write.source) for write in block.writes for p in params)


def readers(sch: Schedule, buffer: Any) -> int:
    """How many blocks read ``buffer``."""
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
        shared = sum(readers(sch, write.source) for write in block.writes) > 1
        if is_reduction(block) or is_output(sch, block) or (keep_shared and shared):
            continue
        sch.compute_inline(sch.get_sblock(name))


def parallel_dims(stages: list[Any], output: Any) -> list[bool]:
    """For each dimension of the output, whether every stage has it and none reduces over it.

    ``stages`` are in program order.  A dimension is followed from the output's index variables
    through the accesses to the stages; an index that is no plain variable loses it.
    """
    kept = set(range(len(output.writes[0].region)))
    carried: list[tuple[Any, list[int | None]]] = [(output.writes[0].source, [*kept])]
    for block in (output, *reversed(stages)):
        dims = _common(carried, block.writes[0].source)
        kept.intersection_update(dims)
        carried += _carried(block, dims)
    return [dim in kept for dim in range(len(output.writes[0].region))]


def _common(carried: list[tuple[Any, list[int | None]]], buffer: Any) -> list[int | None]:
    """The output dimension behind each dimension of ``buffer`` where all its readers agree."""
    seen = [dims for source, dims in carried if source.same_as(buffer)]
    return [dims[0] if len(set(dims)) == 1 else None for dims in zip(*seen, strict=True)]


def _carried(block: Any, dims: list[int | None]) -> list[tuple[Any, list[int | None]]]:
    """Which output dimension indexes each dimension of each buffer that ``block`` reads."""
    of_var = {
        r.min.name: dim
        for r, dim in zip(block.writes[0].region, dims, strict=True)
        if isinstance(r.min, Var)
    }

    def dim_of(r: Any) -> int | None:
        return of_var.get(r.min.name) if isinstance(r.min, Var) else None

    return [(read.source, [dim_of(r) for r in read.region]) for read in block.reads]
