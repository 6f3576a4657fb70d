"""Rounding of floating-point sums: a bound on the error, from the chain of additions.

With unit roundoff u, summing k terms one after another gives sum x_i (1 + theta_i) with
|theta_i| <= gamma_k = k u / (1 - k u) (Higham, Accuracy and Stability of Numerical Algorithms,
2nd ed. 2002, section 3.1 and lemma 3.1; k - 1 additions and at most one rounded product a term).
So |error| <= gamma_k sum |x_i|, whatever the inputs.

Partial sums of k1 terms, of which k2 are then summed, have gamma_(k1 + k2): a split reduction needs
far fewer roundings than k1 k2.  Where parts are kept in another precision the products k u add up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Half the distance from 1 to the next number, rounding to nearest.
UNIT_ROUNDOFF = {
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float32": 2.0**-24,
    "float64": 2.0**-53,
}


def is_float(dtype: str) -> bool:
    """Whether the rounding of the dtype is known."""
    return dtype in UNIT_ROUNDOFF


def rounding(terms: NDArray[np.int64] | Floats, dtype: str) -> Floats:
    """``k u`` of ``terms`` ``(n,)`` roundings in a dtype; such numbers of one chain add up."""
    return terms.astype(np.float64) * UNIT_ROUNDOFF[dtype]


def gamma(ku: Floats) -> Floats:
    """``(n,)`` bound on the error relative to the sum of magnitudes; ``inf`` from k u = 1 on."""
    with np.errstate(divide="ignore"):
        return np.where(ku < 1, ku / (1 - ku), np.inf)
