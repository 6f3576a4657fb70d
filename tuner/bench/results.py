"""Writing a benchmark's folder: ``results.json`` (deterministic), ``timings.json`` (wall clock)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hwsim.chips import chip_hash
from tuner.bench.plan import Plan

if TYPE_CHECKING:
    from tuner.bench.cells import GroupResult

SCHEMA = 1


def write_results(out: Path, plan: Plan, groups: Sequence[GroupResult]) -> dict[str, Any]:
    """Write both files; the content of ``results.json`` comes back."""
    chips = dict.fromkeys(group.chip for group in plan.groups())
    header = {
        "schema": SCHEMA,
        "prunelab": version("prunelab"),
        "tvm": version("apache-tvm"),
        "plan_hash": plan.hash(),
        "chip_hashes": {name: chip_hash(plan.chip(name)) for name in chips},
        **msgspec.to_builtins(plan),
    }
    results = {"header": header, "cells": [cell for g in groups for cell in g.cells]}
    _write(out / "results.json", results)
    timings = {
        "runs": [t for g in groups for t in g.timings],
        "pruning": [g.cost for g in groups if g.cost],
    }
    _write(out / "timings.json", timings)
    return results


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, allow_nan=False) + "\n")
