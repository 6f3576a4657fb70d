"""Value ranges of integers: what the accumulators of a schedule may have to hold.

Interval arithmetic over columns.  Inputs are taken at the full range of their dtype, so that what
is found to fit fits for every input.  Of int8 the largest product is (-128)(-128) = 2^14 and the
smallest -128 * 127 > -2^14, so that the upper end binds: K products need K 2^14 <= 2^(b-1) - 1,
K <= 131,071 at b = 32 and K <= 1 at b = 16.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_EXACT_BITS = 53  # integers that float64 holds exactly


@dataclass(frozen=True)
class Interval:
    """``low <= value <= high``, both ``(n,)`` float64 with integers in them, exact below 2^53."""

    low: Floats
    high: Floats

    @classmethod
    def of_dtype(cls, dtype: str, n: int) -> Interval:
        """The full range of an integer dtype; ``ValueError`` for another one."""
        low, high = limits(dtype)
        return cls(np.full(n, low), np.full(n, high))

    def __add__(self, other: Interval) -> Interval:
        """The sum of two values."""
        return Interval(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Interval) -> Interval:
        """The product of two values that do not depend on each other."""
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(reduce(np.minimum, ends), reduce(np.maximum, ends))

    def __or__(self, other: Interval) -> Interval:
        """Either of two values."""
        return Interval(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def summed(self, terms: NDArray[np.int64]) -> Interval:
        """The sum of 0 to ``terms`` ``(n,)`` such values: partial sums are in it, too."""
        return Interval(np.minimum(self.low * terms, 0.0), np.maximum(self.high * terms, 0.0))

    def bits(self, dtype: str) -> NDArray[np.int64]:
        """``(n,)`` the width that an integer of the dtype's signedness needs for every value."""
        above = _length(np.maximum(self.high, 0.0))
        below = _length(np.maximum(-self.low - 1, 0.0))
        if dtype.startswith("uint"):
            return np.where(self.low < 0, np.maximum(above, below) + 1, above)
        return np.maximum(above, below) + 1


def is_integer(dtype: str) -> bool:
    """Whether the dtype is a signed or unsigned integer (a bool is none)."""
    return dtype.startswith(("int", "uint"))


def width(dtype: str) -> int:
    """Bits of an integer dtype; ``ValueError`` for another one."""
    digits = dtype.removeprefix("u").removeprefix("int")
    if not is_integer(dtype) or not digits.isdecimal():
        raise ValueError(f"dtype {dtype!r}: expected an integer such as int8 or uint16")
    return int(digits)


def limits(dtype: str) -> tuple[float, float]:
    """The least and the largest value; those of 64 bits are rounded."""
    bits = width(dtype)
    if dtype.startswith("uint"):
        return 0.0, 2.0**bits - 1
    return -(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1


def longest_sum(term: Interval, dtype: str) -> NDArray[np.float64]:
    """``(n,)`` how many such terms an accumulator of the dtype holds whatever they are."""
    low, high = limits(dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(term.high > 0, np.floor(high / term.high), np.inf)
        down = np.where(term.low < 0, np.floor(low / term.low), np.inf)
    return np.minimum(up, down)


def _length(values: Floats) -> NDArray[np.int64]:
    """Bits of natural numbers without a sign, as ``int.bit_length``; above 2^53 one too many."""
    exponent: NDArray[np.int64] = np.frexp(values)[1].astype(np.int64)
    return exponent + ((values > 2.0**_EXACT_BITS) & (np.frexp(values)[0] > 0.999)).astype(np.int64)
