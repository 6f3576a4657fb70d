"""Using what ``prunelab tune`` delivered, from a TVM program.

>>> from tuner.delivered import best_schedule, open_database
>>> database = open_database("out/tune")          # doctest: +SKIP
>>> schedule = best_schedule("out/tune")          # doctest: +SKIP

A database names tensor intrinsics, which TVM has to know before it can read it; both functions
register them by making the design space of the folder's chip and workload anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from tvm.s_tir import meta_schedule as ms

from tuner.bench.folder import PLAN, FolderError
from tuner.bench.plan import Plan
from tuner.problem import Problem
from tuner.workloads import resolve


def open_database(out: str | Path) -> Any:
    """The ``ms.database.JSONDatabase`` of a folder that ``prunelab tune`` wrote.

    Raises
    ------
    FolderError
        The folder holds no finished run of ``tune``.
    """
    _problem(Path(out))
    return ms.database.JSONDatabase(work_dir=str(Path(out) / "database"))


def best_schedule(out: str | Path) -> Any:
    """The best ``tvm.s_tir.Schedule`` of a folder that ``prunelab tune`` wrote, postprocessed."""
    problem = _problem(Path(out))
    best = json.loads((Path(out) / "best.json").read_text())
    row = np.array(best["decisions"], dtype=np.int64)
    return problem.lower(best["sketch"], row).schedule


def _problem(out: Path) -> Problem:
    if not (out / "best.json").is_file():
        raise FolderError(f"{out}: no best.json, expected a folder of a finished prunelab tune")
    try:
        plan = msgspec.json.decode((out / PLAN).read_bytes(), type=Plan)
    except (OSError, msgspec.MsgspecError):
        raise FolderError(f"{out / PLAN}: missing or damaged") from None
    return Problem.of(resolve(plan.workloads[0]), plan.chip(plan.chips[0]))
