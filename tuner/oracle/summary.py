"""What an oracle says of its space, in a few numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tuner.decisions import IntColumn
from tuner.oracle.measured import Oracle
from tuner.sketch import Sketch

DIGITS = 9  # of the optimum, as it is printed


def summary(oracle: Oracle) -> dict[str, Any]:
    """Size, shares of valid and rejected candidates, the optimum, its neighbourhood, its decisions.

    ``optimum_us`` is None, and so is all about the best candidate, where nothing runs.
    """
    problem, works = oracle.problem, bool(oracle.valid.any())
    s, row = oracle.pool_of(np.array([oracle.best])).locate(0)
    return {
        "space": problem.label,
        "chip": problem.chip.name,
        "workload": problem.workload.name,
        "candidates": len(oracle),
        "valid_share": float(oracle.valid.mean()),
        "rejected_share": float(oracle.rejects.mean()),
        "optimum_us": float(f"{oracle.optimum_us:.{DIGITS}g}") if works else None,
        "within_1_percent": int(oracle.near(0.01).sum()),
        "within_5_percent": int(oracle.near(0.05).sum()),
        "best_sketch": s if works else None,
        "best_candidate": problem.sketches[s].hash(row) if works else None,
        "best_decisions": shown_decisions(problem.sketches[s], row) if works else {},
    }


def shown_decisions(sketch: Sketch, row: IntColumn) -> dict[str, str]:
    """Tiles as ``4x1x8``, categoricals as what they stand for, locations as they are."""
    out = {}
    for d in sketch.decisions:
        value = row[d.start : d.stop]
        if d.kind == "categorical":
            value = np.array(d.candidates)[value]
        out[d.name] = "x".join(str(v) for v in value)
    return out
