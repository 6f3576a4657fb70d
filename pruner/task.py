"""The task stage: values of sampling instructions are pruned once, before the search starts.

The caller describes a sketch as a :class:`Task`: its decisions (every value of every sampling
instruction), and the *quantities* that a completed candidate will have to fit, written as sums of
products of chosen factors.  A quantity that is bounded from above must be described by no more than
the candidate will really need (a lower bound: leave halos and padding out), so that a value that
goes has no valid completion.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import accumulate
from typing import Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from pruner.rule import BoolColumn, Finding, FloatColumn
from pruner.verdict import Stage

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
Amount = TypeVar("Amount", float, FloatColumn)
IntMatrix = NDArray[np.int64]
Product = tuple[str, tuple[int, ...]]  # a decision and some of its parts
Amounts = dict[Product, float]
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
    def products(self) -> dict[str, Product]:
        """The factors by decision."""
        found: dict[str, Product] = {}
        for name, part in self.factors:
            _, parts = found.get(name, (name, ()))
            found[name] = name, (*parts, part)
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
        return frozenset(name for term in self.terms for name in term.products)

    def involves(self, decision: str) -> bool:
        """Whether one of its terms has a factor of the decision."""
        return decision in self.decisions

    def total(
        self, decision: str, others: Mapping[Product, float], own: Mapping[Product, Amount]
    ) -> Amount:
        """The sum with ``own`` for the decision's products and ``others`` for the rest.

        Numbers of Python's as far as possible: numpy takes longer than so few sums.
        """
        fixed, amounts = 0.0, list[Amount]()
        for term in self.terms:
            rest, mine = 1.0, None
            for name, product in term.products.items():
                if name == decision:
                    mine = own[product]
                else:
                    rest *= others[product]
            if mine is None:
                fixed += term.coefficient * rest
            else:
                amounts.append(mine * (term.coefficient * rest))
        total: Any = reduce(operator.add, amounts) if amounts else 0.0
        answer: Amount = total + fixed if fixed else total
        return answer


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

    @cached_property
    def made_of(self) -> tuple[dict[Product, FloatColumn], Amounts, Amounts]:
        """Of each product in its quantities the values' ``(v,)``, the least and the most."""
        terms = (term for quantity in self.quantities for term in quantity.terms)
        asked = list(dict.fromkeys(p for term in terms for p in term.products.values()))
        values = {d.name: d.values for d in self.decisions}
        columns = [product(values[name], parts) for name, parts in asked]
        starts = [0, *accumulate(len(c) for c in columns)][:-1]
        every = np.concatenate(columns) if columns else np.zeros(0)
        least, most = (b.reduceat(every, starts).tolist() for b in (np.minimum, np.maximum))
        return (
            dict(zip(asked, columns, strict=True)),
            dict(zip(asked, least, strict=True)),
            dict(zip(asked, most, strict=True)),
        )


def product(values: IntMatrix, parts: tuple[int, ...]) -> FloatColumn:
    """``(v,)``: the product of some parts of each value."""
    columns = [values[:, part] for part in parts] or [np.ones(len(values), np.int64)]
    return reduce(np.multiply, columns).astype(np.float64)


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
    asked again until nothing changes.  A rule about quantities alone names them (``about``) and is
    not asked about decisions that have no part in any.  A rule that ships may have
    ``spares(space, decision, chip)``, True where a few numbers show that no value that is left has
    to go: ``check`` is then asked when somebody reads the finding.
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


class Known(dict[K, V]):
    """Answers to what was asked; what was not yet is found out by ``find``."""

    def __init__(self, find: Callable[[K], V], known: Mapping[K, V]) -> None:
        """Start with what is known."""
        super().__init__(known)
        self.find = find

    def __missing__(self, key: K) -> V:
        """Find out, once."""
        self[key] = answer = self.find(key)
        return answer


class Space:
    """A task and what is left of it: ``allowed[name]`` is a mask ``(v,)`` over the values.

    ``products``: of each value ``(v,)``; ``smallest`` and ``largest`` among those that are left.
    """

    def __init__(self, task: Task) -> None:
        """Start with every value allowed."""
        self.task = task
        self.allowed: dict[str, BoolColumn] = columns_of_values(task, True)
        products, smallest, largest = task.made_of
        self.products = Known(self._product, products)
        self.smallest = Known(partial(self._extreme, np.minimum), smallest)
        self.largest = Known(partial(self._extreme, np.maximum), largest)
        self._of_left: dict[str, dict[Hashable, Any]] = {name: {} for name in self.allowed}
        self._quantities: dict[str, list[Quantity]] = {}
        for quantity in task.quantities:
            self._quantities.setdefault(quantity.name, []).append(quantity)

    def least(self, quantity: str, decision: Decision) -> FloatColumn | None:
        """``(v,)``: the least that the quantity can be for each value, over all completions.

        ``None`` where the task does not have the quantity or the decision has no part in it.
        """
        found = self._totals(quantity, decision, self.smallest, self.products)
        return reduce(np.maximum, found) if found else None

    def most(self, quantity: str, decision: Decision) -> FloatColumn | None:
        """``(v,)``: the most that the quantity can be for each value; ``None`` as for least."""
        found = self._totals(quantity, decision, self.largest, self.products)
        return reduce(np.maximum, found) if found else None

    def most_of_least(self, quantity: str, decision: Decision) -> float:
        """What :meth:`least` exceeds for no value that is left."""
        found = self._totals(quantity, decision, self.smallest, self.largest)
        return max(found, default=-math.inf)

    def least_of_most(self, quantity: str, decision: Decision) -> float:
        """What :meth:`most` stays below for no value that is left."""
        found = self._totals(quantity, decision, self.largest, self.smallest)
        return max(found, default=math.inf)

    def quantities(self, name: str) -> Sequence[Quantity]:
        """The task's quantities of a name."""
        return self._quantities.get(name, ())

    def remove(self, name: str, gone: BoolColumn) -> None:
        """Take values of a decision away."""
        self.allowed[name] = self.allowed[name] & ~gone
        self._of_left[name].clear()
        for extremes in (self.smallest, self.largest):
            for product in [p for p in extremes if p[0] == name]:
                del extremes[product]

    def once(self, name: str, key: Hashable, compute: Callable[[], T]) -> T:
        """What ``compute`` makes of the values that a decision has left, until it loses some."""
        known = self._of_left[name]
        if key not in known:
            known[key] = compute()
        answer: T = known[key]
        return answer

    def _totals(
        self,
        quantity: str,
        decision: Decision,
        others: Mapping[Product, float],
        own: Mapping[Product, Amount],
    ) -> list[Amount]:
        return [
            q.total(decision.name, others, own)
            for q in self.quantities(quantity)
            if decision.name in q.decisions
        ]

    def _product(self, asked: Product) -> FloatColumn:
        name, parts = asked
        return product(next(d.values for d in self.task.decisions if d.name == name), parts)

    def _extreme(self, best: np.ufunc, product: Product) -> float:
        return float(best.reduce(self.products[product][self.allowed[product[0]]]))
