"""Values of expressions on a decision matrix, for all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.columns.node import Expr, opposite

Column = NDArray[Any]
Function = Callable[..., Any]


def _divisor_or_one(wanted: Any, of: Any) -> Any:
    return np.where(of % wanted == 0, wanted, 1)


# Operations of two operands, on columns and on single integers.
BINARY: dict[str, Function] = {
    "ceildiv": lambda a, b: -(-a // b),
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "min": np.minimum,
    "max": np.maximum,
    "both": np.multiply,
    "less": lambda a, b: np.less(a, b).astype(np.int64),
    "equal": lambda a, b: np.equal(a, b).astype(np.int64),
    "divisor_or_one": _divisor_or_one,
}
_CHAINED: dict[str, tuple[Function, int]] = {"mul": (np.multiply, 1), "add": (np.add, 0)}


@dataclass(frozen=True)
class Step:
    """``slots[out] = function(*slots[args])``."""

    function: Function
    args: tuple[int, ...]
    out: int


class Plan:
    """The steps that compute some expressions, shared parts once.

    ``steps`` are in order; ``constants`` and ``columns`` say which slots hold constants and columns
    of a decision matrix, ``outputs`` where the values of expressions come to lie.
    """

    def __init__(self, outputs: Iterable[Expr]) -> None:
        self._slot: dict[Any, int] = {}
        self.constants: dict[int, Any] = {}
        self.columns: dict[int, int] = {}
        self.steps: list[Step] = []
        self.outputs = {e: self._visit(e) for e in outputs}

    @property
    def slots(self) -> int:
        """Number of slots."""
        return len(self._slot)

    def __call__(self, matrix: NDArray[np.int64]) -> Mapping[Expr, Column]:
        """Value of each output for each row of ``(n, d)``, shape ``(n,)``."""
        slots = self.start(np.ascontiguousarray(matrix.T))
        self._steps.run(slots)
        full = {s: np.full(len(matrix), v) for s, v in self.constants.items()}
        return {e: full.get(s, slots[s]) for e, s in self.outputs.items()}

    @cached_property
    def _steps(self) -> Steps:
        return Steps(self.steps, self.outputs.values())

    def start(self, columns: NDArray[np.int64]) -> list[Any]:
        """The slots as the columns ``(d, n)`` of a decision matrix fill them."""
        slots: list[Any] = [None] * len(self._slot)
        for slot, value in self.constants.items():
            slots[slot] = value
        for slot, index in self.columns.items():
            slots[slot] = columns[index]
        return slots

    def _visit(self, e: Expr) -> int:
        found = self._slot.get(e)
        if found is not None:
            return found
        if e.op in ("const", "number"):
            slot = self._new(e)
            self.constants[slot] = np.asarray(e.args[-1])  # numpy takes it faster than a number
            return slot
        if e.op == "column":
            return self._column(e.args[0])
        return self._computed(e)

    def _new(self, key: Any) -> int:
        return self._slot.setdefault(key, len(self._slot))

    def _step(self, key: Any, function: Function, *args: int) -> int:
        slot = self._new(key)
        self.steps.append(Step(function, args, slot))
        return slot

    def _computed(self, e: Expr) -> int:
        if e.op == "lookup":
            table = np.array(e.args[0], dtype=np.int64)
            return self._step(e, table.take, self._column(e.args[1]))
        if e.op in _CHAINED:
            return self._chained(e)
        if e.op == "call":
            return self._step(e, e.args[0], *map(self._visit, e.args[1:]))
        args = [self._visit(a) for a in e.args]
        return self._step(e, np.where if e.op == "where" else BINARY[e.op], *args)

    def _column(self, index: int) -> int:
        slot = self._new(("column", index))
        self.columns[slot] = index
        return slot

    def _chained(self, e: Expr) -> int:
        """A sum or a product: of the two parts that it was made of, or term by term."""
        function, neutral = _CHAINED[e.op]
        if e.parts is not None:
            missing = sum(p not in self._slot for p in e.parts)
            if missing < self._missing(e.op, e.args[1:]) + (e.args[0] != neutral):
                return self._pair(e, *e.parts)
        rest = self._chain(e.op, function, e.args[1:])
        if e.args[0] == neutral:
            self._slot[e] = rest
            return rest
        return self._step(e, partial(_swapped, function, e.args[0]), rest)

    def _pair(self, e: Expr, a: Expr, b: Expr) -> int:
        if e.op == "add" and b.op == "mul" and b.args[0] == -1 and b not in self._slot:
            return self._step(e, np.subtract, self._visit(a), self._visit(opposite(b)))
        return self._step(e, _CHAINED[e.op][0], self._visit(a), self._visit(b))

    def _missing(self, what: str, parts: tuple[Expr, ...]) -> int:
        """Steps that put the parts together."""
        known = (k for k in range(len(parts), 1, -1) if (what, parts[:k]) in self._slot)
        return len(parts) - next(known, 1)

    def _chain(self, what: str, function: Function, parts: tuple[Expr, ...]) -> int:
        """Parts put together; others that begin with the same ones take it up from there."""
        if len(parts) == 1:
            return self._visit(parts[0])
        found = self._slot.get((what, parts))
        if found is not None:
            return found
        head, last = self._chain(what, function, parts[:-1]), self._visit(parts[-1])
        return self._step((what, parts), function, head, last)


class Steps:
    """Steps to run; a value is dropped after its last use unless it is ``kept``."""

    def __init__(self, steps: Sequence[Step], kept: Iterable[int]) -> None:
        needed, todo = set(kept), []
        for step in reversed(steps):
            last = [a for a in set(step.args) if a not in needed]
            todo.append((step.function, step.args, step.out, last))
            needed.update(step.args)
        self._todo = todo[::-1]

    def run(self, slots: list[Any]) -> None:
        """Fill the slots."""
        for function, args, out, last in self._todo:
            slots[out] = function(*[slots[a] for a in args])
            for slot in last:
                slots[slot] = None


def _swapped(function: Function, constant: int, column: Any) -> Any:
    return function(column, constant)
