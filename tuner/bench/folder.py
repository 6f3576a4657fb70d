"""Output folders: one plan each, never mixed, never overwritten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from tuner.bench.plan import Plan

PLAN = "plan.json"


class FolderError(ValueError):
    """An output folder that cannot be used; the message is one line for the user."""


def with_store(plan: Plan, folder: str, out: Path) -> Plan:
    """The plan with a store as it is now, or as it was when the plan of ``out`` was begun.

    Raises
    ------
    LogError
        The store is damaged.
    """
    if not folder:
        return plan
    from traces.store import Store

    try:
        begun = msgspec.json.decode((out / PLAN).read_bytes(), type=Plan).store_snapshot
    except (OSError, msgspec.MsgspecError):
        begun = ""
    snapshot = begun or Store(folder).snapshot()
    return msgspec.structs.replace(plan, store=folder, store_snapshot=snapshot)


def check_folder(out: Path, plan: Plan, resume: bool) -> None:
    """Say why ``out`` cannot take a plan, where it cannot; nothing is touched.

    Raises
    ------
    FolderError
        It holds something else, holds this plan's results and ``resume`` is false, or belongs to
        another plan (another chip, say).
    """
    path = out / PLAN
    if path.exists():
        _compare(path, msgspec.to_builtins(plan))
        if not resume:
            raise FolderError(f"{out}: holds this run already; give --resume or another --out")
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise FolderError(f"{out}: not empty and not a prunelab folder; give another --out")


def claim_folder(out: Path, plan: Plan, resume: bool) -> None:
    """Make ``out`` and the plan's store ready for what the plan is going to leave there.

    Raises
    ------
    FolderError, LogError
        As :func:`check_folder`; or ``out``, or the store, cannot be written.
    """
    check_folder(out, plan, resume)
    if plan.store:
        from traces.store import Store

        Store(plan.store).claim()
    path = out / PLAN
    if path.exists():
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(msgspec.to_builtins(plan), indent=2) + "\n")
    except OSError as error:
        raise FolderError(f"{out}: cannot be written ({error.strerror})") from None


def _compare(path: Path, wanted: dict[str, Any]) -> None:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        raise FolderError(f"{path}: damaged; give another --out") from None
    for key, value in wanted.items():
        there = found.get(key) if isinstance(found, dict) else None
        if json.loads(json.dumps(value)) != there:
            raise FolderError(
                f"{path.parent}: belongs to another run: {key} is {there!r},"
                f" this run has {value!r}; give another --out"
            )
