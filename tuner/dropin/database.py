"""Opening TVM's databases without their traps.

TVM's JSON database ignores the target when it looks a workload up, so that two chips must not share
one; a blank line in it ends the process (a segmentation fault), a torn one fails the whole load.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tvm_ffi
from tvm.s_tir import meta_schedule as ms
from tvm.target import Target

from tuner.dropin.error import TuneError

FAILED_S = 1e9  # TVM writes 1e10 seconds for what failed
WORKLOADS, RECORDS = "database_workload.json", "database_tuning_record.json"


def open_database(kind: Any, work_dir: Path, equality: str) -> tuple[Any, list[str]]:
    """The database that ``kind`` (a ``ms.database.Database``, "json", "memory") stands for.

    Files are mended first: see :func:`mend`.  The second answer says what was mended.

    Raises
    ------
    TuneError
        A damaged line that is not the last, or a record of a workload that is not there.
    """
    if isinstance(kind, ms.database.Database):
        return kind, []
    if kind != "json":
        return ms.database.Database.create(kind, module_equality=equality), []
    notes = [note for name in (WORKLOADS, RECORDS) if (note := mend(work_dir / name))]
    _check_indices(work_dir)
    database = ms.database.JSONDatabase(work_dir=str(work_dir), module_equality=equality)
    return database, notes


def check_target(database: Any, mods: Iterable[Any], target: Target) -> None:
    """Refuse a database that holds one of ``mods`` tuned for another target.

    Raises
    ------
    TuneError
        One line with both targets.
    """
    ours = [mod for mod in mods if database.has_workload(mod)]
    for record in database.get_all_tuning_records() if ours else ():
        if record.target is None or str(record.target) == str(target):
            continue
        if any(tvm_ffi.structural_equal(record.workload.mod, mod) for mod in ours):
            raise TuneError(
                f"the database holds this workload for another target, {record.target}, and TVM"
                f" would take its records for {target}; give another work_dir or database"
            )


def valid(record: Any) -> bool:
    """Whether a record was measured: TVM writes 1e10 s for what failed to build or to run."""
    seconds = [float(s) for s in record.run_secs or ()]
    return bool(seconds) and max(seconds) < FAILED_S


def mend(path: Path) -> str | None:
    """Take blank lines and a torn last line out of a JSON Lines file; a line that says so.

    Raises
    ------
    TuneError
        A damaged line that is not the last.
    """
    if not path.is_file():
        return None
    raw = path.read_bytes()
    lines = raw.split(b"\n")
    kept = [line for i, line in enumerate(lines) if _whole(path, lines, i)]
    mended = b"".join(line + b"\n" for line in kept)
    if mended == raw:
        return None
    part = path.with_name(path.name + ".part")
    part.write_bytes(mended)
    os.replace(part, path)
    return f"{path}: {len(lines) - 1 - len(kept) + bool(lines[-1])} blank or torn lines taken out"


def _whole(path: Path, lines: list[bytes], i: int) -> bool:
    if not lines[i].strip():
        return False
    try:
        json.loads(lines[i])
    except ValueError:
        if not any(line.strip() for line in lines[i + 1 :]):
            return False
        raise TuneError(f"{path}:{i + 1}: damaged, expected JSON; remove the line") from None
    return True


def _check_indices(work_dir: Path) -> None:
    workloads, records = (_lines(work_dir / name) for name in (WORKLOADS, RECORDS))
    for i, line in enumerate(records):
        record = json.loads(line)
        index = record[0] if isinstance(record, list) and record else None
        if not isinstance(index, int) or not 0 <= index < len(workloads):
            raise TuneError(
                f"{work_dir / RECORDS}:{i + 1}: workload {index!r}, expected one of the"
                f" {len(workloads)} in {WORKLOADS}"
            )


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.is_file() else []
