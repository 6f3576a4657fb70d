"""What the tests of the command line share: arguments, and what a command says."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

SHIPPED = Path(sys.modules["hwsim.chips"].__file__ or "").parent
GEMM = "gemm:128x128x128:float16"
BENCH = ("bench", "--chip", "mlu370-s4", "--workload", GEMM, "--seeds", "1", "--trials", "8")
TUNE = ("tune", "--workload", GEMM, "--trials", "12", "--batch", "8", "--no-check")
ASCEND = (SHIPPED / "ascend_cube/chips/ascend-910b1.toml").read_text()
UB = next(line for line in ASCEND.splitlines() if line.startswith("ub_kib"))


class Said(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Cli = Callable[..., Said]


def refused(said: Said, *parts: str) -> None:
    """One line on stderr that names every one of ``parts``."""
    assert said.code == 2
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    for part in parts:
        assert part in said.err


def files(folder: Path) -> dict[str, bytes]:
    """Everything below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def log_of(folder: Path) -> Path:
    (path,) = (folder / "runs").glob("*.jsonl")
    return path


def trials_of(folder: Path) -> list[dict[str, Any]]:
    records = map(json.loads, log_of(folder).read_text().splitlines())
    return [r for r in records if r["record"] == "trial"]
