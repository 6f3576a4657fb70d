"""The task stage: values of sampling instructions are pruned once, before the search starts.

The caller describes a sketch as a :class:`Task`: its decisions (every value of every sampling
instruction), and the *quantities* that a completed candidate will have to fit, written as sums of
products of chosen factors.  A quantity that is bounded from above must be described by no more than
the candidate will really need (a lower bound: leave halos and padding out), so that a value that
goes has no valid completion.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import accumulate
from typing import Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from pruner.rule import BoolColumn, Finding, FloatColumn
from pruner.verdict import Stage

T = TypeVar("T")
IntMatrix = NDArray[np.int64]
Meaning = Literal[
    "tile", "vector_lanes", "unroll", "cores", "threads", "buffers", "location", "steps"
]  # "steps": iterations of a template's innermost loop
Role = Literal["core", "vthread", "thread", "serial"]


@dataclass(frozen=True)
class Axis:
    """The five static features of a loop axis.

    ``length`` in elements; ``reuse``: how many operations one element along it takes part in;
    ``vectorisable``: neighbouring elements are contiguous in every tensor that has the axis.
    """

    name: str
    length: int
    dtype: str
    reuse: float = 1.0
    vectorisable: bool = False
    reduction: bool = False


@dataclass(frozen=True)
class Decision:
    """One sampling instruction and all the values it can take.

    Parameters
    ----------
    name:
        Unique in the task; verdicts are printed with it.
    meaning:
        ``"tile"`` for a perfect tile, else what the categorical stands for.
    values:
        ``(v, parts)``; one part for a categorical, a factor a part (outermost first) for a tile.
    roles:
        What each part's loop is bound to, one a part.
    axis:
        The axis that is tiled, or that the categorical splits; ``None`` where there is none.
    unit:
        Elements of the axis that one step of the innermost part covers (a tensor intrinsic's side).
    """

    name: str
    meaning: Meaning
    values: IntMatrix
    roles: tuple[Role, ...] = ("serial",)
    axis: Axis | None = None
    unit: int = 1

    def __post_init__(self) -> None:
        """Refuse values that are no ``(v, parts)`` matrix with one role a part."""
        if self.values.ndim != 2 or self.values.shape[1] != len(self.roles) or not len(self.values):
            raise ValueError(
                f"decision {self.name!r}: values {self.values.shape}, expected a row a value and"
                f" {len(self.roles)} parts"
            )


@dataclass(frozen=True)
class Term:
    """``coefficient`` times the product of the named ``(decision, part)`` factors."""

    coefficient: float
    factors: tuple[tuple[str, int], ...]

    @cached_property
    def parts(self) -> dict[str, tuple[int, ...]]:
        """The factors' parts by decision."""
        found: dict[str, tuple[int, ...]] = {}
        for name, part in self.factors:
            found[name] = (*found.get(name, ()), part)
        return found


@dataclass(frozen=True)
class Quantity:
    """A sum of terms that the chip limits, e.g. ``l0a_bytes`` in B or ``threads`` of a block.

    A task may have several of one name: what a candidate needs is then the largest of them.
    """

    name: str
    unit: str
    terms: tuple[Term, ...]

    @cached_property
    def decisions(self) -> frozenset[str]:
        """The decisions that its terms have factors of."""
        return frozenset(name for term in self.terms for name in term.parts)

    def involves(self, decision: str) -> bool:
        """Whether one of its terms has a factor of the decision."""
        return decision in self.decisions


@dataclass(frozen=True)
class Task:
    """One sketch as the task stage sees it.

    ``matmul``: the main statement multiplies and accumulates.  ``thread_floor``: the least threads
    of a block that the schedule's own annotation accepts (0: no such annotation).  ``operators``:
    what is computed, in order, e.g. ``("conv2d", "bias", "relu")``.
    """

    name: str
    backend: str
    decisions: tuple[Decision, ...]
    quantities: tuple[Quantity, ...] = ()
    matmul: bool = False
    thread_floor: int = 0
    operators: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse duplicate decision names and quantities over unknown ones."""
        parts = {d.name: d.values.shape[1] for d in self.decisions}
        if len(parts) != len(self.decisions):
            raise ValueError(f"task {self.name!r}: a decision's name is given twice")
        for quantity in self.quantities:
            for name, part in (f for term in quantity.terms for f in term.factors):
                if not 0 <= part < parts.get(name, 0):
                    raise ValueError(
                        f"quantity {quantity.name!r}: no decision {name!r} with part {part}"
                    )


def columns_of_values(task: Task, value: bool | int) -> dict[str, NDArray[Any]]:
    """For every decision a column ``(v,)`` over its values, all of them one number."""
    ends = list(accumulate(len(d.values) for d in task.decisions))
    every = np.full(ends[-1] if ends else 0, value)
    starts = [0, *ends]
    return {d.name: every[a:b] for d, a, b in zip(task.decisions, starts, ends, strict=False)}


@runtime_checkable
class TaskRule(Protocol):
    """A task rule; like a trial rule, but over the values of one decision.

    ``joint``: its answer depends on which values the *other* decisions have left, so that it is
    asked again until nothing changes.  A rule about one quantity alone names it
    (``about_quantity``) and is not asked about decisions that have no part in it.
    """

    name: ClassVar[str]
    stage: ClassVar[Stage]
    joint: ClassVar[bool]

    @property
    def backends(self) -> tuple[str, ...]:
        """Backends whose tasks the rule can read."""
        ...

    @property
    def hard(self) -> bool:
        """Whether what it prunes would certainly fail."""
        ...

    def check(self, space: Space, decision: Decision, chip: Chip) -> Finding | None:
        """Columns of shape ``(v,)``, or ``None`` where the rule has nothing to say; pure."""
        ...


@dataclass
class Space:
    """A task and what is left of it: ``allowed[name]`` is a mask ``(v,)`` over the values."""

    task: Task
    allowed: dict[str, BoolColumn] = field(init=False)
    _products: dict[tuple[str, tuple[int, ...]], FloatColumn] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start with every value allowed."""
        self.allowed = columns_of_values(self.task, True)
        self._by_name: Mapping[str, Decision] = {d.name: d for d in self.task.decisions}
        self._quantities: dict[str, list[Quantity]] = {}
        for quantity in self.task.quantities:
            self._quantities.setdefault(quantity.name, []).append(quantity)
        self._of_values: dict[str, dict[Hashable, Any]] = {}
        self._extremes: dict[np.ufunc, dict[str, dict[tuple[int, ...], float]]] = {
            best: {name: {} for name in self.allowed} for best in (np.minimum, np.maximum)
        }

    def least(self, quantity: str, decision: Decision) -> FloatColumn | None:
        """``(v,)``: the least that the quantity can be for each value, over all completions.

        ``None`` where the task does not have the quantity or the decision has no part in it.
        """
        return self._bound(quantity, decision, np.minimum)

    def most(self, quantity: str, decision: Decision) -> FloatColumn | None:
        """``(v,)``: the most that the quantity can be for each value; ``None`` as for least."""
        return self._bound(quantity, decision, np.maximum)

    def quantities(self, name: str) -> Sequence[Quantity]:
        """The task's quantities of a name."""
        return self._quantities.get(name, ())

    def product(self, name: str, parts: tuple[int, ...]) -> FloatColumn:
        """``(v,)``: the product of some parts of each value of a decision."""
        key = (name, parts)
        if key not in self._products:
            values = self._by_name[name].values
            columns = [values[:, part] for part in parts] or [np.ones(len(values), np.int64)]
            self._products[key] = reduce(np.multiply, columns).astype(np.float64)
        return self._products[key]

    def remove(self, name: str, gone: BoolColumn) -> None:
        """Take values of a decision away."""
        self.allowed[name] = self.allowed[name] & ~gone
        self._of_values.pop(name, None)
        for extremes in self._extremes.values():
            extremes[name].clear()

    def once(self, name: str, key: Hashable, compute: Callable[[], T]) -> T:
        """What ``compute`` makes of the values that a decision has left, until it loses some."""
        known = self._of_values.setdefault(name, {})
        if key not in known:
            known[key] = compute()
        answer: T = known[key]
        return answer

    def _bound(self, name: str, decision: Decision, best: np.ufunc) -> FloatColumn | None:
        found = [
            self._total(quantity, decision, best)
            for quantity in self.quantities(name)
            if quantity.involves(decision.name)
        ]
        return reduce(np.maximum, found) if found else None

    def _total(self, quantity: Quantity, decision: Decision, best: np.ufunc) -> FloatColumn:
        """Numbers of Python's as far as possible: numpy takes longer than so few sums."""
        extremes, fixed, columns = self._extremes[best], 0.0, list[FloatColumn]()
        for term in quantity.terms:
            rest, own = 1.0, None
            for name, parts in term.parts.items():
                if name == decision.name:
                    own = self.product(name, parts)
                else:
                    rest *= extremes[name].get(parts) or self._extreme(name, parts, best)
            if own is None:
                fixed += term.coefficient * rest
            else:
                columns.append(own * (term.coefficient * rest))
        total = reduce(np.add, columns)
        return total + fixed if fixed else total

    def _extreme(self, name: str, parts: tuple[int, ...], best: np.ufunc) -> float:
        found = float(best.reduce(self.product(name, parts)[self.allowed[name]]))
        self._extremes[best][name][parts] = found
        return found
