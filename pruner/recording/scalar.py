"""A programme for a single row: Python's own numbers, of which an operation costs a tenth of what
numpy takes for an array of one.

The instructions are written out as a Python generator and compiled.  Rules are asked in order, and
what only later ones or the gate's features need is not computed once a rule has objected; what only
the draft needs, not before it is asked for.  Constants are arguments, so that a limit that follows
the run does not ask for another compilation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from hwsim.gpu_sm.warp import pattern
from pruner.recording.programme import Column, Instruction, Programme

Run = Callable[..., Iterator[tuple[int, tuple[float, ...]]]]

_INT64 = 2**63 - 1
_SAME = {"add": "+", "subtract": "-", "multiply": "*"}  # bool has its own
_COMPARE = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==",
    "not_equal": "!=",
}  # fmt: skip
_FORMS = {  # operation and kind -> Python; numpy does not raise, so that neither may these
    "dividef": "{0} / {1} if {1} else over_zero({0}, {1})",
    "maximumf": "{0} if {0} >= {1} or {0} != {0} else {1}",
    "minimumf": "{0} if {0} <= {1} or {0} != {0} else {1}",
    "maximumi": "{0} if {0} >= {1} else {1}",
    "minimumi": "{0} if {0} <= {1} else {1}",
    "ceilf": "-(-{0} // 1.0) if -INF < {0} < INF else {0}",
    "floorf": "{0} // 1.0 if -INF < {0} < INF else {0}",
    "sqrtf": "sqrt({0}) if {0} >= 0.0 else NAN",
    "exp2f": "exp2({0})",
    "isfinitef": "-INF < {0} < INF",
    "absolutef": "abs({0})",
    "absolutei": "abs({0})",
    "negativef": "-{0}",
    "negativei": "-{0}",
    "to_fi": "{0} + 0.0",
    "to_fb": "1.0 if {0} else 0.0",
    "to_ib": "1 if {0} else 0",
    "addb": "{0} or {1}",
    "multiplyb": "{0} and {1}",
    "andb": "{0} and {1}",
    "orb": "{0} or {1}",
    "xorb": "{0} != {1}",
    "notb": "not {0}",
    "warp_sectorsf": "pattern({0}, {1}, {2}, {3}, {4})[0]",
    "warp_wavefrontsf": "pattern({0}, {1}, {2}, {3}, {4})[2]",
    **{f"{op}{kind}": f"{{0}} {sign} {{1}}" for op, sign in _SAME.items() for kind in "fi"},
    **{f"{op}{kind}": f"{{0}} {sign} {{1}}" for op, sign in _COMPARE.items() for kind in "bfi"},
    **{f"where{kind}": "{1} if {0} else {2}" for kind in "bfi"},
    **{f"{fold}{kind}": "{0}" for fold in ("sum", "most", "least") for kind in "fi"},  # of one row
}
_WIDER = {f"{op}i" for op in (*_SAME, "absolute", "negative")}  # may leave int64, where numpy wraps


def judging(programme: Programme) -> Run:
    """A function of a table's columns, of one row, which yields the first check that objects and
    nothing; or -1 and the features, and then, if it is recorded, -1 and the draft alone.

    It raises ``OverflowError`` where a whole number leaves int64.
    """
    keeps = tuple(check.keep for check in programme.checks)
    values = tuple(measure.value for measure in programme.features)
    code = _judge(*_structure(programme), keeps, values, programme.draft)
    return _function(code, programme)


def finding(programme: Programme) -> Callable[..., tuple[bool | float, ...]]:
    """A function of the same columns: keep, need and have of every check, one after another."""
    sides = tuple(side for c in programme.checks for side in (c.keep, c.need, c.have))
    return _function(_find(*_structure(programme), sides), programme)


def _structure(programme: Programme) -> tuple[Sequence[Column], int, Sequence[Instruction]]:
    """What the code depends on: all but the constants' values."""
    return programme.columns, len(programme.constants), programme.instructions


@lru_cache(maxsize=64)
def _judge(
    columns: Sequence[Column],
    constants: int,
    instructions: Sequence[Instruction],
    keeps: Sequence[int],
    features: Sequence[int],
    draft: int | None,
) -> CodeType:
    writer, lines = _Writer(columns, constants, instructions), []
    for k, keep in enumerate(keeps):
        lines += [*writer.value(keep), f"if not v{keep}:", f"    yield {k}, ()", "    return"]
    for value in features:
        lines += writer.value(value)
    lines.append(f"yield -1, ({''.join(f'v{value}, ' for value in features)})")
    if draft is not None:
        lines += [*writer.value(draft), f"yield -1, (v{draft},)"]
    return _compiled(lines, len(columns), constants)


@lru_cache(maxsize=64)
def _find(
    columns: Sequence[Column],
    constants: int,
    instructions: Sequence[Instruction],
    sides: Sequence[int],
) -> CodeType:
    writer = _Writer(columns, constants, instructions)
    lines = [line for side in sides for line in writer.value(side)]
    lines.append(f"return ({''.join(f'v{side}, ' for side in sides)})")
    return _compiled(lines, len(columns), constants)


class _Writer:
    """Writes each value once, with what it needs before it."""

    def __init__(
        self, columns: Sequence[Column], constants: int, instructions: Sequence[Instruction]
    ) -> None:
        self._columns, self._instructions = columns, instructions
        self._first = len(columns) + constants  # the first instruction's value
        self._written = set(range(len(columns), self._first))

    def value(self, number: int) -> Iterator[str]:
        """The lines after which the variable ``v{number}`` has its value."""
        todo, needed = [number], set[int]()
        while todo:
            at = todo.pop()
            if at not in needed and at not in self._written:
                needed.add(at)
                todo += self._instructions[at - self._first].args if at >= self._first else ()
        self._written |= needed
        for at in sorted(needed):  # arguments have lower numbers
            yield from self._line(at)

    def _line(self, number: int) -> Iterator[str]:
        if number < self._first:
            yield f"v{number} = columns[{self._columns[number].name!r}].item()"
            return
        one = self._instructions[number - self._first]
        form = _FORMS[one.op + one.kind].format(*(f"v{arg}" for arg in one.args))
        yield f"v{number} = {form}"
        if one.op + one.kind in _WIDER:
            yield f"if not -{_INT64} <= v{number} <= {_INT64}: raise OverflowError"


def _compiled(lines: Sequence[str], columns: int, constants: int) -> CodeType:
    names = ", ".join(["columns", *(f"v{columns + k}" for k in range(constants))])
    source = "\n    ".join([f"def run({names}):", *lines])
    constants_of_module = compile(source, "<programme>", "exec").co_consts
    return next(c for c in constants_of_module if isinstance(c, CodeType))


def _function(code: CodeType, programme: Programme) -> FunctionType:
    constants = tuple(_READ[c.kind](c.value) for c in programme.constants)
    return FunctionType(code, _NAMES, "run", constants)


def _over_zero(x: float, zero: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.divide(x, zero))


def _exp2(x: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.power(2.0, x))


_READ: dict[str, Callable[[str], Any]] = {"b": "True".__eq__, "i": int, "f": float}
_NAMES = {
    "INF": math.inf,
    "NAN": math.nan,
    "abs": abs,
    "sqrt": math.sqrt,
    "exp2": _exp2,
    "over_zero": _over_zero,
    "pattern": pattern,
    "OverflowError": OverflowError,
}
