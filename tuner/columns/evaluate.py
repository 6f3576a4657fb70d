"""Values of expressions on a decision matrix, for all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.columns.node import Expr

IntColumn = NDArray[np.int64]
Function = Callable[..., Any]


def _divisor_or_one(wanted: Any, of: Any) -> Any:
    return np.where(of % wanted == 0, wanted, 1)


# Operations of two operands, on columns and on single integers.
BINARY: dict[str, Function] = {
    "ceildiv": lambda a, b: -(-a // b),
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": np.minimum,
    "max": np.maximum,
    "both": np.multiply,
    "less": lambda a, b: np.less(a, b).astype(np.int64),
    "equal": lambda a, b: np.equal(a, b).astype(np.int64),
    "divisor_or_one": _divisor_or_one,
}


@dataclass
class _Step:
    """``slots[out] = function(*slots[args])``, after which the slots ``free`` are not needed."""

    function: Function
    args: tuple[int, ...]
    out: int
    free: tuple[int, ...] = ()


class Plan:
    """The steps that compute some expressions, shared parts once.

    A value is dropped after its last use: the few that live at a time stay in the cache.
    """

    def __init__(self, outputs: Iterable[Expr]) -> None:
        self._slot: dict[Any, int] = {}
        self._constants: dict[int, int] = {}
        self._columns: dict[int, int] = {}
        self._steps: list[_Step] = []
        self._outputs = {e: self._visit(e) for e in outputs}
        self._set_free()

    def __call__(self, matrix: NDArray[np.int64]) -> Mapping[Expr, IntColumn]:
        """Value of each output for each row of ``(n, d)``, shape ``(n,)``."""
        columns, n = np.ascontiguousarray(matrix.T), len(matrix)
        slots: list[Any] = [None] * len(self._slot)
        for slot, value in self._constants.items():
            slots[slot] = value
        for slot, index in self._columns.items():
            slots[slot] = columns[index]
        for step in self._steps:
            slots[step.out] = step.function(*[slots[a] for a in step.args])
            for slot in step.free:
                slots[slot] = None
        full = {s: np.full(n, v, dtype=np.int64) for s, v in self._constants.items()}
        return {e: full.get(s, slots[s]) for e, s in self._outputs.items()}

    def _visit(self, e: Expr) -> int:
        found = self._slot.get(e)
        if found is not None:
            return found
        if e.op in ("const", "column"):
            slot = self._new(e)
            (self._constants if e.op == "const" else self._columns)[slot] = e.args[0]
            return slot
        return self._computed(e)

    def _new(self, key: Any) -> int:
        return self._slot.setdefault(key, len(self._slot))

    def _step(self, key: Any, function: Function, *args: int) -> int:
        slot = self._new(key)
        self._steps.append(_Step(function, args, slot))
        return slot

    def _computed(self, e: Expr) -> int:
        if e.op == "lookup":
            table = np.array(e.args[0], dtype=np.int64)
            return self._step(e, partial(np.take, table), self._column(e.args[1]))
        if e.op == "mul":
            return self._scaled(e, np.multiply, self._product(e.args[1:]), 1)
        if e.op == "add":
            return self._scaled(e, np.add, self._sum(e.args[1:]), 0)
        args = [self._visit(a) for a in e.args]
        return self._step(e, np.where if e.op == "where" else BINARY[e.op], *args)

    def _column(self, index: int) -> int:
        slot = self._new(("column", index))
        self._columns[slot] = index
        return slot

    def _scaled(self, e: Expr, function: Function, rest: int, neutral: int) -> int:
        if e.args[0] == neutral:
            self._slot[e] = rest
            return rest
        return self._step(e, partial(_swapped, function, e.args[0]), rest)

    def _product(self, factors: tuple[Expr, ...]) -> int:
        """Product of factors; others that begin with the same ones take it up from there."""
        return self._chain("product", np.multiply, factors)

    def _sum(self, terms: tuple[Expr, ...]) -> int:
        return self._chain("sum", np.add, terms)

    def _chain(self, what: str, function: Function, parts: tuple[Expr, ...]) -> int:
        if len(parts) == 1:
            return self._visit(parts[0])
        found = self._slot.get((what, parts))
        if found is not None:
            return found
        head, last = self._chain(what, function, parts[:-1]), self._visit(parts[-1])
        return self._step((what, parts), function, head, last)

    def _set_free(self) -> None:
        kept = {*self._outputs.values(), *self._constants}
        for step in reversed(self._steps):
            step.free = tuple({s for s in step.args if s not in kept})
            kept.update(step.args)


def _swapped(function: Function, constant: int, column: Any) -> Any:
    return function(column, constant)
