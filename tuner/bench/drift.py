"""What changed between two results of the same benchmark: everything is deterministic, so any
difference is a change of the program, a chip, a rule or the arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tuner.bench.measures import judged
from tuner.bench.saved import Key, Saved

VERSIONS = (
    "prunelab",
    "tvm",
    "version",
    "chip_hashes",
    "chip_hash",
)  # may differ as long as the results do not
_DERIVED = ("schema", "plan_hash")
_LABELS = ("chip", "workload", "strategy", "arm", "notes")


@dataclass(frozen=True)
class Difference:
    """One value of the header that differs: an ``argument``, or a ``version``."""

    name: str
    kind: str
    base: Any
    new: Any


@dataclass(frozen=True)
class Drift:
    """One value of a cell that differs, ``None`` where a side does not have it.

    ``what`` is the value's path in the cell, such as ``run_regret.median`` or
    ``rules.trial.capacity{scope=l0c}``; ``change`` is better, worse, changed, missing or extra.
    """

    cell: Key
    what: str
    base: Any
    new: Any
    change: str


@dataclass(frozen=True)
class Gated:
    """The outcome of a gate: cells that only one side has, differing values, notes that changed."""

    compared: int
    arguments: list[Difference]
    versions: list[Difference]
    missing: list[Key]
    extra: list[Key]
    drifts: list[Drift]
    notes: list[Drift]

    @property
    def passed(self) -> bool:
        """Whether nothing drifted; other versions and notes alone do not fail a gate."""
        return not (self.arguments or self.missing or self.extra or self.drifts)


def gate(base: Saved, new: Saved, tolerance: float = 0.0) -> Gated:
    """Hold ``new`` against ``base``.

    ``tolerance``: a number may differ by that much, absolutely or relatively; 0 demands equality.
    """
    shared = [key for key in base.cells if key in new.cells]
    header = list(header_differences(base.header, new.header))
    pairs = [(key, base.cells[key], new.cells[key]) for key in shared]
    return Gated(
        compared=len(shared),
        arguments=[d for d in header if d.kind == "argument"],
        versions=[d for d in header if d.kind == "version"],
        missing=[key for key in base.cells if key not in new.cells],
        extra=[key for key in new.cells if key not in base.cells],
        drifts=[d for key, a, b in pairs for d in _cell(key, a, b, tolerance)],
        notes=[d for key, a, b in pairs for d in _notes(key, a, b)],
    )


def header_differences(base: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    """What two headers say differently, arguments and versions."""
    for name in dict.fromkeys((*base, *new)):
        before, after = base.get(name), new.get(name)
        if name not in _DERIVED and before != after:
            yield Difference(name, "version" if name in VERSIONS else "argument", before, after)


def _cell(
    key: Key, base: Mapping[str, Any], new: Mapping[str, Any], tolerance: float
) -> Iterator[Drift]:
    before, after = dict(_flat(base)), dict(_flat(new))
    for what in dict.fromkeys((*before, *after)):
        if what not in after:
            yield Drift(key, what, before[what], None, "missing")
        elif what not in before:
            yield Drift(key, what, None, after[what], "extra")
        elif not _same(before[what], after[what], tolerance):
            change = _change(what, before[what], after[what])
            yield Drift(key, what, before[what], after[what], change)


def _flat(cell: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The values of a cell by their path; what each rule pruned by the rule."""
    for name, value in cell.items():
        if name in _LABELS:
            continue
        if name == "rules":
            yield from ((f"rules.{r['stage']}.{r['rule']}", r["pruned"]) for r in value)
        elif isinstance(value, dict):
            yield from ((f"{name}.{part}", of) for part, of in value.items())
        else:
            yield name, value


def _notes(key: Key, base: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Drift]:
    before, after = base.get("notes", []), new.get("notes", [])
    yield from (Drift(key, "notes", note, None, "missing") for note in before if note not in after)
    yield from (Drift(key, "notes", None, note, "extra") for note in after if note not in before)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(before: Any, after: Any, tolerance: float) -> bool:
    if _is_number(before) and _is_number(after):
        return math.isclose(before, after, rel_tol=tolerance, abs_tol=tolerance)
    return bool(before == after)


def _change(what: str, before: Any, after: Any) -> str:
    if all(value is None or _is_number(value) for value in (before, after)):
        return judged(what.split(".")[0], before, after)
    return "changed"
