"""LightGBM's trees as plain lists, for engines that evaluate them without LightGBM.

:class:`Walk` does, for one candidate: all nodes at once, where LightGBM's way there takes longer
than its trees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import lightgbm as lgb

MOST_LEAVES = 32  # an engine keeps the leaves of a tree as bits of one word


class NotExportable(Exception):
    """Trees of a kind that the lists do not express; one line."""


class Tree(msgspec.Struct, frozen=True):
    """Node i goes left where ``x[feature[i]] <= threshold[i]``; children are nodes, or ``~leaf``
    where negative.  ``value`` is that of each leaf; a tree of one leaf has no nodes.
    """

    feature: tuple[int, ...]
    threshold: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    value: tuple[float, ...]


class Trees(msgspec.Struct, frozen=True):
    """Their values, added up in this order, are the prediction."""

    trees: tuple[Tree, ...]


def trees_of(booster: lgb.Booster) -> Trees:
    """The trees of a booster, from its text format, which prints numbers so that they come back.

    Raises
    ------
    NotExportable
        Categorical splits, splits that treat zero or nan as missing, trees of more than 32 leaves.
    """
    text = booster.model_to_string(importance_type="split")
    return Trees(tuple(_tree(part) for part in text.split("\nTree=")[1:]))


def _tree(text: str) -> Tree:
    fields = dict(line.split("=", 1) for line in text.split("\n\n")[0].splitlines()[1:] if line)
    if int(fields["num_leaves"]) > MOST_LEAVES:
        raise NotExportable(f"a tree of {fields['num_leaves']} leaves, {MOST_LEAVES} at most")
    for kind in map(int, fields.get("decision_type", "").split()):
        if kind & 1 or kind >> 2:  # bit 0: categorical; bits 2 and 3: what counts as missing
            raise NotExportable(f"a split of decision type {kind}")
    left, right = (_numbers(fields, side) for side in ("left_child", "right_child"))
    return Tree(
        feature=tuple(map(int, _numbers(fields, "split_feature"))),
        threshold=_numbers(fields, "threshold"),
        left=tuple(map(int, left)),
        right=tuple(map(int, right)),
        value=_numbers(fields, "leaf_value"),
    )


def _numbers(fields: dict[str, str], name: str) -> tuple[float, ...]:
    return tuple(map(float, fields.get(name, "").split()))


class Walk:
    """Evaluates the trees for one candidate.

    The leaves of a tree are bits, numbered from left to right.  A node whose test fails rules out
    the leaves of its left subtree; the lowest bit that is left is where the candidate ends
    (Lucchese et al., "QuickScorer", SIGIR 2015).
    """

    def __init__(self, trees: Trees) -> None:
        nodes: list[tuple[int, float, int]] = []  # feature, threshold, leaves that a failure leaves
        starts, first_leaf, values = [], [], list[float]()
        for tree in trees.trees:
            starts.append(len(nodes))
            first_leaf.append(len(values) - 1)  # frexp counts bits from 1
            nodes += _nodes(tree, values) if tree.feature else [(0, np.inf, int(_EVERY))]
            values += [] if tree.feature else tree.value
        feature, threshold, keep = zip(*nodes, strict=True)
        self._feature, self._threshold = np.array(feature), np.array(threshold)
        self._keep, self._starts = np.array(keep, np.uint32), np.array(starts)
        self._first_leaf, self._value = np.array(first_leaf), np.array(values)

    def __call__(self, x: NDArray[np.float32]) -> float:
        """The sum, in the trees' order, for features ``(38,)``."""
        passed = x[self._feature] <= self._threshold
        alive = np.bitwise_and.reduceat(np.where(passed, _EVERY, self._keep), self._starts)
        _, bit = np.frexp((alive & -alive).astype(np.float64))
        return float(np.add.accumulate(self._value[self._first_leaf + bit])[-1])


_EVERY = np.uint32(2**32 - 1)


def _nodes(tree: Tree, values: list[float]) -> list[tuple[int, float, int]]:
    """The nodes of a tree; ``values`` gets its leaves from left to right."""
    base, under = len(values), [0] * len(tree.feature)  # leaves of each node's left subtree

    def number(child: int) -> int:
        if child < 0:
            values.append(tree.value[~child])
            return 1 << (len(values) - 1 - base)
        under[child] = number(tree.left[child])
        return under[child] | number(tree.right[child])

    number(0)
    return [
        (f, t, int(_EVERY) & ~left)
        for f, t, left in zip(tree.feature, tree.threshold, under, strict=True)
    ]
