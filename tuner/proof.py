"""Proving a candidate correct for the whitelist: by analysis, and by running it."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np

from pruner.safety.proof import VERSION, objection
from pruner.safety.rounding import gamma
from traces.store import Proven
from tuner.deliver import check_report
from tuner.feedback import now
from tuner.problem import Problem


def prove(problem: Problem, sketch: int, decisions: list[int]) -> Proven | str:
    """The entry of the whitelist, or the line that says what is not proven.

    Ranges and rounding are those of the candidate itself; its likeness on a small shape is run
    against numpy (see :func:`tuner.deliver.check_report`).
    """
    row = np.array(decisions, dtype=np.int64)
    table = problem.sketches[sketch].kernels(row[None])
    missing = objection(table)
    if missing is not None:
        return missing
    report = check_report(problem, sketch, decisions)
    if isinstance(report, str):
        return report
    if not report.ok:
        return f"wrong on {report.workload}: {report.problem}"
    return Proven(
        workload=problem.workload.name,
        workload_hash=problem.program_hash,
        candidate=problem.sketches[sketch].hash(row),
        decisions=decisions,
        proof={
            "integer_bits_needed": int(table["sum_need_bits"].max()),
            "integer_bits": int(table["sum_bits"].max()),
            "rounding_bound": float(gamma(table["sum_rounding"]).max()),
            "run_on": report.workload,
            "run_seed": report.seed,
            "run_error": report.max_error,
            "run_tolerance": report.tolerance,
        },
        versions={
            "analysis": VERSION,
            **{name: version(name) for name in ("prunelab", "apache-tvm", "numpy")},
        },
        at=now(),
    )
