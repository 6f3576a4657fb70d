"""What is allocated: the hull of all accesses at their lowest common loop.

Equals TVM's PlanAndUpdateBufferAllocationLocation, LiftThreadBinding and CompactBufferAllocation
on the schedules of the design spaces, at a tenth of their cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tuner.tir.program import Analysed, Region
from tuner.tir.radix import Form, Radix
from tuner.tir.walk import Loop


def compacted(scope: str, users: Sequence[Analysed], buffer: int, radix: Radix) -> tuple[int, ...]:
    """Extents of a buffer that ``users`` access, in elements."""
    regions = [(u, r) for u in users for r in (*u.reads, u.write) if _is(r, buffer)]
    full = [int(e.value) for e in regions[0][1].buffer.shape]
    if scope == "global":
        return tuple(full)
    common = _common([u.source.loops for u in users])
    hulls = [_hull(r, _relaxed(u, len(common), scope, radix), radix) for u, r in regions]
    widest = (max(column) for column in zip(*hulls, strict=True))
    return tuple(min(f, w) for f, w in zip(full, widest, strict=True))


def _is(region: Region, buffer: int) -> bool:
    return bool(region.buffer.__chandle__() == buffer)


def _common(nests: Sequence[tuple[Loop, ...]]) -> tuple[Loop, ...]:
    first = nests[0]
    depth = min(len(nest) for nest in nests)
    while any(nest[:depth] != first[:depth] for nest in nests):
        depth -= 1
    return first[:depth]


def _relaxed(user: Analysed, depth: int, scope: str, radix: Radix) -> set[str]:
    """Digits that one copy of the buffer has to span.

    All loops below the common one; shared memory also spans the threads, registers do not.
    """
    spans_threads = scope.startswith("shared")
    names = []
    for i, loop in enumerate(user.loops):
        thread = loop.kind.startswith("threadIdx") or loop.kind == "vthread"
        if spans_threads if thread else i >= depth and not loop.kind.startswith("blockIdx"):
            names.append(loop.name)
    if user.shared_copy is not None:
        names.append(user.shared_copy.tile)
    return {leaf for name in names for leaf in radix.leaves(name)}


def _hull(region: Region, relaxed: set[str], radix: Radix) -> tuple[int, ...]:
    parts = zip(region.corner, region.extent, strict=True)
    return tuple(extent + span(form, relaxed, radix) for form, extent in parts)


def span(form: Form, relaxed: set[str], radix: Radix) -> int:
    """Largest minus smallest value of a form while the ``relaxed`` digits vary."""
    total = _sum_span(form.terms, relaxed, radix)
    for q in form.quasi:
        inner = -(-_sum_span(q.terms, relaxed, radix) // q.div)
        total += abs(q.scale) * (min(inner, q.mod - 1) if q.mod else inner)
    return total


def _sum_span(terms: Mapping[str, int], relaxed: set[str], radix: Radix) -> int:
    leaves = radix.expand(terms)
    return sum(abs(c) * (radix.extent(d) - 1) for d, c in leaves.items() if d in relaxed)
