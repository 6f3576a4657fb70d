"""Whether ranges and rounding prove that a kernel computes right values for all inputs."""

from __future__ import annotations

import numpy as np

from hwsim.table import KernelTable
from pruner.safety.rounding import gamma

VERSION = "1.0.0"  # of the analysis; what another version proved counts no longer
ACCEPTED_ERROR = 1 / 32  # of a float sum, relative to the sum of magnitudes


def objection(table: KernelTable) -> str | None:
    """What cannot be proven of the kernels of one candidate, in a line; None: nothing."""
    if table["sum_unbounded"].any():
        return "the range of some integer is not known"
    lacking = table["sum_need_bits"] - table["sum_bits"]
    worst = int(np.argmax(lacking))
    if lacking[worst] > 0:
        need, have = int(table["sum_need_bits"][worst]), int(table["sum_bits"][worst])
        return f"an integer sum needs {need} bits and has {have}"
    error = float(gamma(table["sum_rounding"]).max())
    if error > ACCEPTED_ERROR:
        return f"a sum may be wrong by {error:.3g} of its magnitudes, accepted is {ACCEPTED_ERROR}"
    return None
