"""Functions of columns that a column which is no array may stand in for by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tuner.nest import IntColumn


def pointwise(function: Callable[..., IntColumn]) -> Callable[..., IntColumn]:
    """Of a function whose rows do not depend on each other: a recording column records a call.

    What numpy offers a column as ``__array_function__``, for functions that are not numpy's.
    """

    @wraps(function)
    def call(*columns: Any) -> IntColumn:
        for column in columns:
            if hasattr(column, "applied"):
                recorded: IntColumn = column.applied(function, columns)
                return recorded
        return function(*columns)

    return call
