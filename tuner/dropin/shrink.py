"""The task stage on TVM's design space: sampling instructions lose the values that it prunes.

TVM samples a categorical by its probabilities and a perfect tile up to ``max_innermost_factor``;
both are rewritten in the design space's traces.  What cannot be written there (one pair of factors)
is looked up in the decisions of a trace, by mutators before TVM replays it and by the postprocessor
after, in microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tvm.s_tir import Schedule, Trace
from tvm.s_tir.schedule import Instruction

from pruner.task_result import TaskResult
from pruner.verdict import Verdict
from tuner.decisions import Decision
from tuner.dropin.callback import Voice
from tuner.dropin.verdicts import Line, VerdictLog
from tuner.sketch import Sketch

Value = tuple[int, ...]


@dataclass(frozen=True)
class _Cut:
    """The pruned values of one sampling instruction."""

    decision: Decision
    gone: dict[Value, Verdict]


@dataclass
class Shrunk:
    """What the task stage pruned, by sketch; sketches are told apart by their instructions."""

    sketches: list[tuple[tuple[str, ...], list[_Cut]]] = field(default_factory=list)

    def verdict(self, trace: Any) -> Verdict | None:
        """The verdict on the first pruned value among a trace's decisions; None: there is none."""
        if not any(cuts for _, cuts in self.sketches):
            return None
        kinds = _kinds(trace)
        same = [cuts for known, cuts in self.sketches if known == kinds]
        found = [_first(trace, cuts) for cuts in same]
        return found[0] if found and all(found) else None

    @property
    def values(self) -> int:
        """How many (decision, value) pairs are gone."""
        return sum(len(cut.gone) for _, cuts in self.sketches for cut in cuts)


def shrink(
    sketches: Sequence[Sketch],
    results: Sequence[TaskResult],
    task: str,
    log: VerdictLog,
    voice: Voice,
) -> tuple[Shrunk, list[Any]]:
    """The pruned values, and the design space's schedules without them where TVM can say so."""
    shrunk, designs = Shrunk(), []
    for sketch, result in zip(sketches, results, strict=True):
        cuts = [c for d in sketch.decisions if (c := _cut(d, result, task, log, voice)).gone]
        shrunk.sketches.append((_kinds(sketch.trace), cuts))
        designs.append(_rewritten(sketch, cuts))
    return shrunk, designs


def _cut(d: Decision, result: TaskResult, task: str, log: VerdictLog, voice: Voice) -> _Cut:
    gone: dict[Value, Verdict] = {}
    options = d.options()
    allowed = result.allowed.get(d.name)
    if allowed is None:
        return _Cut(d, gone)
    asked = range(len(options)) if voice.present else np.flatnonzero(~allowed).tolist()
    for i in asked:
        verdict = result.verdict(d.name, i)
        subject = f"{d.name} = {'x'.join(map(str, options[i]))}"
        if voice.keep(task, subject, verdict):
            continue
        if verdict.keep:
            reason = "the registered callback prunes it"
            verdict = Verdict(keep=False, stage="task", rule="callback", reason=reason)
        gone[tuple(map(int, options[i]))] = verdict
        log.write(Line(task=task, subject=subject, verdict=verdict))
    if len(gone) == len(options):
        log.note(task, f"every value of {d.name} is pruned: they are all kept")
        gone = {}
    return _Cut(d, gone)


def _rewritten(sketch: Sketch, cuts: Iterable[_Cut]) -> Any:
    instructions = list(sketch.trace.insts)
    decisions = dict(sketch.trace.decisions.items())
    for cut in cuts:
        i = cut.decision.instruction
        old = instructions[i]
        new = Instruction(old.kind, old.inputs, _attrs(old, cut), old.outputs)
        value = _allowed(cut)[0]
        decisions.pop(old, None)
        decisions[new] = list(value) if cut.decision.kind == "perfect_tile" else value[0]
        instructions[i] = new
    sch = Schedule(sketch.initial.mod)
    Trace(instructions, decisions).apply_to_schedule(sch, remove_postproc=True)
    return sch


def _attrs(old: Any, cut: _Cut) -> list[Any]:
    left = _allowed(cut)
    if cut.decision.kind == "perfect_tile":
        return [old.attrs[0], max(value[-1] for value in left)]
    if cut.decision.kind == "categorical":
        weights = [float(p) for p in cut.decision.probabilities]
        weights = [p if (i,) in left else 0.0 for i, p in enumerate(weights)]
        return [list(cut.decision.candidates), [p / sum(weights) for p in weights]]
    return list(old.attrs)


def _allowed(cut: _Cut) -> list[Value]:
    options = [tuple(map(int, option)) for option in cut.decision.options()]
    return [option for option in options if option not in cut.gone]


def _first(trace: Any, cuts: Iterable[_Cut]) -> Verdict | None:
    instructions, taken = trace.insts, trace.decisions
    for cut in cuts:
        value = taken[instructions[cut.decision.instruction]]
        parts = (int(value),) if isinstance(value, int) else tuple(int(v) for v in value)
        if parts in cut.gone:
            return cut.gone[parts]
    return None


def _kinds(trace: Any) -> tuple[str, ...]:
    names = [instruction.kind.name for instruction in trace.insts]
    return tuple(names[: names.index("EnterPostproc")] if "EnterPostproc" in names else names)
