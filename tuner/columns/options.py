"""Which of the options of its decisions each row of a decision matrix takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.decisions import IntColumn, IntMatrix


class Options:
    """The options ``(m, width)`` of one decision, found column by column.

    A state stands for the values of the columns so far, ``0`` for values that no option begins
    with; the state behind the last column is one more than the number of the option.
    """

    def __init__(self, options: IntMatrix, start: int) -> None:
        self.options, self.start = options, start
        self._levels: list[tuple[int, NDArray[Any], NDArray[Any], int]] = []
        state, states = np.ones(len(options), dtype=np.int64), 2
        for column in options.T:
            state, states = self._level(column, state, states)
        self._number = np.zeros(states, dtype=np.int64)
        self._number[state] = np.arange(len(options)) + 1

    def _level(self, column: IntColumn, state: IntColumn, states: int) -> tuple[IntColumn, int]:
        """One more column: its values' numbers, and the next state by state and number."""
        values, digit = np.unique(column, return_inverse=True)
        low, digits = int(values[0]), len(values) + 1
        digit_of = np.zeros(int(values[-1]) - low + 3, dtype=np.int32)  # 0 below and above
        digit_of[values - low + 1] = np.arange(1, digits)
        found, following = np.unique(state * digits + digit + 1, return_inverse=True)
        successor = np.zeros(states * digits, dtype=np.int64)
        successor[found] = np.arange(1, len(found) + 1)
        self._levels.append((low - 1, digit_of, successor, digits))
        return following + 1, len(found) + 1

    def __call__(self, columns: IntMatrix) -> IntColumn:
        """For each row of a matrix, given as ``(d, n)``, the number of its option or -1."""
        state = np.ones(columns.shape[1], dtype=np.int64)
        for i, (low, digit_of, successor, digits) in enumerate(self._levels):
            digit = digit_of.take(columns[self.start + i] - low, mode="clip")
            state = successor.take(state * digits + digit)
        return self._number.take(state) - 1
