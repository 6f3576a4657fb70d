"""What completions of a decision's value can be when two quantities have to suit at once.

Every other decision is reduced to its *choices*: for each product of factors that the steering
quantity sees, the least of every product that the limited quantity sees.  A handful of choices a
decision are left of hundreds of values, and all their combinations are looked at.  Taking each
product's least by itself can only make the answer smaller: it stays a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from pruner.rule import BoolColumn, FloatColumn
from pruner.task import Decision, Known, Product, Quantity, Space

MOST = 65_536  # combinations; with more than that nothing is said


@dataclass(frozen=True)
class _Choices:
    """Values or combinations: the steering product ``(m,)``, each term's product ``(terms, m)``."""

    steer: FloatColumn
    terms: FloatColumn

    def with_(self, other: _Choices) -> _Choices:
        """Every choice of the one with every choice of the other."""
        both = (self.terms[:, :, None] * other.terms[:, None, :]).reshape(len(self.terms), -1)
        return _Choices(np.multiply.outer(self.steer, other.steer).ravel(), both).reduced()

    def reduced(self) -> _Choices:
        """One choice for each steering product, with the least of every term."""
        order = np.argsort(self.steer, kind="stable")
        steer = self.steer[order]
        first = np.empty(len(steer), dtype=bool)
        first[:1] = True
        np.not_equal(steer[1:], steer[:-1], out=first[1:])
        starts = first.nonzero()[0]
        return _Choices(steer[starts], np.minimum.reduceat(self.terms[:, order], starts, axis=1))


def least_together(
    space: Space, decision: Decision, limited: str, steering: str, bounds: tuple[float, float]
) -> FloatColumn | None:
    """``(v,)``: the least of ``limited`` over completions with ``steering`` within ``bounds``.

    ``inf`` where no completion keeps to them.  ``None`` where the decision or the task has no part
    in either, or where the combinations are too many.
    """
    steer = space.quantities(steering)
    limits = space.quantities(limited)
    if len(steer) != 1 or len(steer[0].terms) != 1 or not limits:
        return None
    if not any(q.involves(decision.name) for q in (*steer, *limits)):
        return None
    found = [_least(space, decision, q, steer[0], bounds) for q in limits]
    said = [f for f in found if f is not None]
    return reduce(np.maximum, said) if said else None


def all_suit(
    space: Space,
    decision: Decision,
    limited: str,
    steering: str,
    bounds: tuple[float, float],
    have: float,
) -> bool:
    """True where the completions with the least of ``steering`` show that no value that is left
    exceeds ``have`` of ``limited``: they keep to the bounds and need no more.
    """
    steer = space.quantities(steering)
    if len(steer) != 1 or len(steer[0].terms) != 1:
        return False
    name, by = decision.name, steer[0].terms[0].products
    if steer[0].total(name, space.smallest, space.smallest) < bounds[0]:
        return False
    if steer[0].total(name, space.smallest, space.largest) > bounds[1]:
        return False
    beside = Known(partial(_least_beside, space, by), {})
    return all(q.total(name, beside, space.largest) <= have for q in space.quantities(limited))


def _least_beside(space: Space, steering: Mapping[str, Product], product: Product) -> float:
    """The least of a product among the values left of its decision that steer least."""
    name, _ = product
    if name not in steering:
        return space.smallest[product]
    by, left = steering[name], space.allowed[name]
    steers_least = space.products[by] == space.smallest[by]
    return float(np.minimum.reduce(space.products[product][left & steers_least]))


def _least(
    space: Space,
    decision: Decision,
    limited: Quantity,
    steer: Quantity,
    bounds: tuple[float, float],
) -> FloatColumn | None:
    own = _choices(space, decision.name, limited, steer)
    others = (limited.decisions | steer.decisions) - {decision.name}
    rest = [
        space.once(name, (id(limited), id(steer)), partial(_left, space, name, limited, steer))
        for name in sorted(others)
    ]
    none = _Choices(np.ones(1), np.ones((len(limited.terms), 1)))
    together = reduce(_Choices.with_, rest) if rest else none
    if len(own.steer) * len(together.steer) > MOST:
        return None
    scale = np.array([[term.coefficient] for term in limited.terms])
    need = together.terms.T @ (own.terms * scale)  # (choices, v): the least of them is a row's
    steered = np.multiply.outer(together.steer, steer.terms[0].coefficient * own.steer)
    need[(steered < bounds[0]) | (steered > bounds[1])] = np.inf
    least: FloatColumn = np.minimum.reduce(need, axis=0)
    return least


def _left(space: Space, name: str, limited: Quantity, steer: Quantity) -> _Choices:
    """The choices among the values that a decision has left."""
    return _choices(space, name, limited, steer, space.allowed[name]).reduced()


def _choices(
    space: Space,
    name: str,
    limited: Quantity,
    steer: Quantity,
    allowed: BoolColumn | slice = slice(None),
) -> _Choices:
    none = name, ()
    products = [space.products[term.products.get(name, none)] for term in limited.terms]
    own = space.products[steer.terms[0].products.get(name, none)]
    return _Choices(own[allowed], np.array(products)[:, allowed])
