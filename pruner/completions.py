"""What completions of a decision's value can be when two quantities have to suit at once.

Every other decision is reduced to its *choices*: for each product of factors that the steering
quantity sees, the least of every product that the limited quantity sees.  A handful of choices a
decision are left of hundreds of values, and all their combinations are looked at.  Taking each
product's least by itself can only make the answer smaller: it stays a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from pruner.rule import BoolColumn, FloatColumn
from pruner.task import Decision, Quantity, Space, Term

_FIRST = np.zeros(1, np.intp)
MOST = 65_536  # combinations; with more than that nothing is said


@dataclass(frozen=True)
class _Choices:
    """Values or combinations: the steering product ``(m,)``, each term's product ``(terms, m)``."""

    steer: FloatColumn
    terms: FloatColumn

    def with_(self, other: _Choices) -> _Choices:
        """Every choice of the one with every choice of the other."""
        both = (self.terms[:, :, None] * other.terms[:, None, :]).reshape(len(self.terms), -1)
        return _Choices((self.steer[:, None] * other.steer).ravel(), both).reduced()

    def reduced(self) -> _Choices:
        """One choice for each steering product, with the least of every term."""
        order = self.steer.argsort(kind="stable")
        steer = self.steer[order]
        starts = np.concatenate((_FIRST, (steer[1:] != steer[:-1]).nonzero()[0] + 1))
        terms = self.terms.take(order, axis=1)
        return _Choices(steer[starts], np.minimum.reduceat(terms, starts, axis=1))


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
    terms, steered_by = [term for q in limits for term in q.terms], steer[0].terms[0]
    own = _choices(space, decision.name, terms, steered_by)
    others = frozenset[str]().union(*(q.decisions for q in (*steer, *limits))) - {decision.name}
    rest = [
        space.once(name, (limited, steering), partial(_left, space, name, terms, steered_by))
        for name in sorted(others)
    ]
    none = _Choices(np.ones(1), np.ones((len(terms), 1)))
    together = reduce(_Choices.with_, rest) if rest else none
    if len(own.steer) * len(together.steer) > MOST:
        return None
    steered = together.steer[:, None] * (steered_by.coefficient * own.steer)
    beyond = (steered < bounds[0]) | (steered > bounds[1])
    return reduce(np.maximum, _least(limits, own.terms, together.terms, beyond))


def _least(
    limits: Sequence[Quantity], own: FloatColumn, together: FloatColumn, beyond: BoolColumn
) -> Iterator[FloatColumn]:
    """For each limit ``(v,)``; its terms' rows are ``own`` ``(terms, v)`` and ``together``
    ``(terms, m)``, and ``beyond`` ``(m, v)`` says what is out of bounds.
    """
    start = 0
    for limit in limits:
        rows = slice(start, start := start + len(limit.terms))
        scale = np.array([term.coefficient for term in limit.terms])
        need = together[rows].T @ (own[rows] * scale[:, None])
        need[beyond] = np.inf
        yield np.minimum.reduce(need, axis=0)


def _left(space: Space, name: str, terms: Sequence[Term], steer: Term) -> _Choices:
    """The choices among the values that a decision has left."""
    return _choices(space, name, terms, steer, space.allowed[name]).reduced()


def _choices(
    space: Space,
    name: str,
    terms: Sequence[Term],
    steer: Term,
    allowed: BoolColumn | slice = slice(None),
) -> _Choices:
    products = [space.product(name, term.parts.get(name, ())) for term in terms]
    own = space.product(name, steer.parts.get(name, ()))
    return _Choices(own[allowed], np.array(products)[:, allowed])
