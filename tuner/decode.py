"""Read the open decisions of a trace: what is sampled, over what, and a readable name for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

from tvm.s_tir import Trace

from tuner.decisions import Decision

# Annotation that a categorical feeds -> what it decides.
_FEEDS = {
    "meta_schedule.cooperative_fetch": "vector",
    "meta_schedule.unroll_explicit": "unroll",
    "meta_schedule.unroll_implicit": "unroll",
}


def decisions_of(initial: Any, trace: Any) -> tuple[Decision, ...]:
    """The sampling instructions of ``trace`` on the unscheduled ``initial``, in trace order."""
    reader = _Reader(initial, list(trace.insts), trace.decisions)
    found: list[Decision] = []
    for i, instruction in enumerate(reader.instructions):
        read = _READERS.get(instruction.kind.name)
        if read is not None:
            found.append(read(reader, i, found[-1].stop if found else 0))
    return _unique(found)


@dataclass(frozen=True)
class _Reader:
    initial: Any
    instructions: list[Any]
    taken: Any

    @cached_property
    def producer(self) -> dict[Any, tuple[int, int]]:
        """Random variable -> (instruction, output position) that defines it."""
        return {
            out: (i, k)
            for i, inst in enumerate(self.instructions)
            for k, out in enumerate(inst.outputs)
        }

    @cached_property
    def deepest(self) -> int:
        """Most loops around a block of the unscheduled program."""
        sch = self.initial.copy()
        blocks = sch.get_child_blocks(sch.get_sblock("root"))
        return max((len(sch.get_loops(b)) for b in blocks), default=0)

    def resolve(self, rv: Any, before: int) -> Any:
        """The loop or block that ``rv`` stands for just before instruction ``before``."""
        sch = self.initial.copy()
        decisions = {i: d for i, d in self.taken.items() if i in self.instructions[:before]}
        Trace(self.instructions[:before], decisions).apply_to_schedule(sch, remove_postproc=False)
        i, k = self.producer[rv]
        return sch.get(sch.trace.insts[i].outputs[k])

    def user_of(self, rv: Any) -> int | None:
        """First instruction that takes ``rv`` as an input."""
        for i, inst in enumerate(self.instructions):
            if any(rv.same_as(x) for x in inst.inputs if hasattr(x, "same_as")):
                return i
        return None


def _tile(reader: _Reader, i: int, start: int) -> Decision:
    inst = reader.instructions[i]
    loop = reader.resolve(inst.inputs[0], i).loop_var.name
    return Decision(
        name=f"{loop}.tile",
        kind="perfect_tile",
        instruction=i,
        start=start,
        extent=prod(int(f) for f in reader.taken[inst]),
        parts=int(inst.attrs[0]),
        max_innermost_factor=int(inst.attrs[1]),
    )


def _categorical(reader: _Reader, i: int, start: int) -> Decision:
    inst = reader.instructions[i]
    candidates, probabilities = inst.attrs
    return Decision(
        name=_categorical_name(reader, reader.user_of(inst.outputs[0])),
        kind="categorical",
        instruction=i,
        start=start,
        candidates=tuple(int(c) for c in candidates),
        probabilities=tuple(float(p.value) for p in probabilities),
    )


def _categorical_name(reader: _Reader, user: int | None) -> str:
    if user is None:
        return "unused"
    inst = reader.instructions[user]
    if inst.kind.name == "Annotate":
        key = str(inst.attrs[0])
        what = _FEEDS.get(key, key.split(".")[-1])
        target = reader.resolve(inst.inputs[0], user)
        owner = getattr(target, "name_hint", None) or target.loop_var.name
        return what if owner == "root" else f"{owner}.{what}"
    if inst.kind.name == "Split":
        what = "tile" if len(inst.inputs) > 3 else "split"  # a template's knob, or [None, factor]
        return f"{reader.resolve(inst.inputs[0], user).loop_var.name}.{what}"
    return f"{inst.kind.name.lower()}"


def _location(reader: _Reader, i: int, start: int) -> Decision:
    inst = reader.instructions[i]
    block = reader.resolve(inst.inputs[0], i).name_hint
    used = (len(x.outputs) for x in reader.instructions if x.kind.name == "GetLoops")
    depth = max([reader.deepest, *used])
    return Decision(
        name=f"{block}.location",
        kind="compute_location",
        instruction=i,
        start=start,
        candidates=tuple(range(-2, depth)),
    )


_READERS = {
    "SamplePerfectTile": _tile,
    "SampleCategorical": _categorical,
    "SampleComputeLocation": _location,
}


def _unique(found: list[Decision]) -> tuple[Decision, ...]:
    """Number the names that occur more than once, in trace order."""
    counts = Counter(d.name for d in found)
    seen: Counter[str] = Counter()
    out = []
    for d in found:
        if counts[d.name] > 1:
            seen[d.name] += 1
            d = replace(d, name=f"{d.name}#{seen[d.name]}")
        out.append(d)
    return tuple(out)
