"""Steps over rows in sections, of which each asks for some of the values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tuner.columns.evaluate import Step

Span = tuple[int, int]  # the first section, and the one behind the last


class Sections:
    """Steps to run, each for the rows from the first to the last section that needs its value.

    ``asked`` are the slots that each section asks for, ``given`` those that hold a value for each
    row before the first step.  ``spans`` says which sections a slot's value is there for.
    """

    def __init__(
        self, steps: Sequence[Step], asked: Sequence[Iterable[int]], given: Iterable[int]
    ) -> None:
        self.spans = _spans(steps, asked) | dict.fromkeys(given, (0, len(asked)))
        self.steps = [s for s in steps if s.out in self.spans]
        used = {slot for slots in asked for slot in slots}
        todo = []
        for step in reversed(self.steps):
            last = [a for a in set(step.args) if a not in used]
            used.update(step.args)
            todo.append((step.function, step.args, step.out, *self._cut(step), last))
        self._todo = todo[::-1]

    def _cut(self, step: Step) -> tuple[Span, list[tuple[int, int]]]:
        """A step's span, and which operands to cut to it with the sections they begin with."""
        span = self.spans[step.out]
        spans = [self.spans.get(a, span) for a in step.args]  # constants have none
        return span, [(i, other[0]) for i, other in enumerate(spans) if other != span]

    def run(self, slots: list[Any], bounds: Sequence[int]) -> None:
        """Fill the slots; section i are the rows from ``bounds[i]`` to ``bounds[i + 1]``."""
        for function, args, out, (first, past), cut, last in self._todo:
            start, end = bounds[first], bounds[past]
            if start < end:
                operands = [slots[a] for a in args]
                for i, begins in cut:
                    low = bounds[begins]
                    operands[i] = operands[i][start - low : end - low]
                slots[out] = function(*operands)
            for slot in last:
                slots[slot] = None


def _spans(steps: Sequence[Step], asked: Sequence[Iterable[int]]) -> dict[int, Span]:
    """The sections that what each step computes is needed for."""
    spans: dict[int, Span] = {}
    for i, slots in enumerate(asked):
        needed = set(slots)
        for step in reversed(steps):
            if step.out in needed:
                needed.update(step.args)
                spans[step.out] = spans.get(step.out, (i, i))[0], i + 1
    return spans
