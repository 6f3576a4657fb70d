"""LightGBM's trees as plain lists, for engines that evaluate them without LightGBM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

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
