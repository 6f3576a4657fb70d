"""LightGBM's trees as plain lists, for engines that evaluate them without LightGBM.

:class:`Walk` does, for one candidate: LightGBM's way to its trees takes longer than the trees.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """Evaluates forests for one candidate, all their nodes at once.

    The leaves of a tree are bits, the leftmost the highest.  A node whose test fails rules out the
    leaves of its left subtree; the highest bit that is left is where the candidate ends (Lucchese
    et al., "QuickScorer", SIGIR 2015).  Shorter trees are filled up with nodes that no candidate
    fails, shorter forests with trees that add 0.
    """

    def __init__(self, forests: Sequence[Trees]) -> None:
        n = max(len(forest.trees) for forest in forests)
        trees = [t for f in forests for t in (*f.trees, *[_NOTHING] * (n - len(f.trees)))]
        nodes, last_leaf, values = [], [], list[float]()
        for tree in trees:
            last_leaf.append(len(values) + MOST_LEAVES)
            nodes.append(_nodes(tree, values))
        shape = max(map(len, nodes)), len(forests), n
        filled = [of_tree + [_PASSED] * (shape[0] - len(of_tree)) for of_tree in nodes]
        feature, threshold, gone = (
            np.array(column).T.reshape(shape)
            for column in zip(*(zip(*of_tree, strict=True) for of_tree in filled), strict=True)
        )
        self._feature, self._threshold = feature, _at_most(threshold)
        self._gone, self._value = gone.astype(np.uint32), np.array(values)
        self._last_leaf = np.array(last_leaf).reshape(shape[1:])

    def __call__(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        """``(forests,)`` sums, in the trees' order, for features ``(38,)``."""
        failed = x.take(self._feature) > self._threshold
        gone = np.bitwise_or.reduce(self._gone * failed, axis=0)
        _, highest = np.frexp(~gone)
        sums: NDArray[np.float64] = np.add.accumulate(
            self._value.take(self._last_leaf - highest), axis=1
        )
        return sums[:, -1]


_PASSED = (0, np.inf, 0)
_NOTHING = Tree((), (), (), (), (0.0,))


def _at_most(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 that is not above: what fails one of the two tests fails both."""
    near = threshold.astype(np.float32)
    return np.where(near > threshold, np.nextafter(near, np.float32(-np.inf)), near)


def _nodes(tree: Tree, values: list[float]) -> list[tuple[int, float, int]]:
    """Feature, threshold, and the leaves that a failure rules out, of each node of a tree, at least
    one; ``values`` gets its leaves from left to right.
    """
    if not tree.feature:
        values += tree.value
        return [_PASSED]
    base, under = len(values), [0] * len(tree.feature)  # leaves of each node's left subtree

    def number(child: int) -> int:
        if child < 0:
            values.append(tree.value[~child])
            return 1 << (MOST_LEAVES + base - len(values))
        under[child] = number(tree.left[child])
        return under[child] | number(tree.right[child])

    number(0)
    return list(zip(tree.feature, tree.threshold, under, strict=True))
