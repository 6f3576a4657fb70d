"""Every dataset of a folder against the models: a list of entries, one a chip and measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.backends import simulate
from hwsim.fidelity.data import (
    UNREADABLE,
    Finding,
    MeasuredError,
    Part,
    Skip,
    files,
    load,
    reason_of,
    stem,
)
from hwsim.fidelity.kinds import read
from hwsim.fidelity.measures import Scores, score
from hwsim.fidelity.shelf import Shelf
from hwsim.outcome import latencies_us
from hwsim.result import Failure, FloatColumn

PARTS = ("validation", "calibration")
_LEAST = 1e-9  # of a time in us or a counter; ratios to less leave float64
_UNMEASURED = "nothing measured, or a number that no kernel can reach"
_NOTHING = Scores(0, None, None, None, None, None, None, None, None, 0)


@dataclass(frozen=True)
class Entry:
    """One line of the report.

    ``skipped`` rows of the chip were not compared, ``reasons`` says why (reason -> rows).
    ``failures`` has, by failure, how many kernels really failed and how many of them were
    predicted to fail.
    """

    dataset: str
    part: str
    chip: str
    measure: str = "latency"
    scores: Scores = _NOTHING
    skipped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    failures: dict[str, dict[str, int]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Flat, with the scores as keys of their own."""
        flat = {"dataset": self.dataset, "chip": self.chip, "measure": self.measure}
        rest = {"skipped": self.skipped, "skipped_reasons": self.reasons}
        return flat | asdict(self.scores) | rest | {"failures": self.failures}


def measure_folder(folder: Path, part: str) -> list[Entry]:
    """The entries of ``folder/<family>/<part>``, families and datasets by name; raises as
    :func:`datasets`.
    """
    entries: list[Entry] = []
    for dataset, found in groupby(datasets(folder, part), key=lambda pair: pair[0]):
        entries += _entries(dataset, part, [finding for _, finding in found])
    return entries


def datasets(folder: Path, part: str) -> Iterator[tuple[str, Finding]]:
    """What every dataset of ``folder/<family>/<part>`` says, with the dataset's name.

    Raises
    ------
    MeasuredError
        ``folder`` is missing or has no dataset in any ``<family>/validation`` or ``calibration``.
    ChipError
        A chip file in ``folder/chips`` that is wrong.
    """
    if not folder.is_dir():
        raise MeasuredError(f"{folder}: no such folder")
    families = sorted(p for p in folder.iterdir() if p.is_dir())
    if not any(True for f in families for name in PARTS for _ in files(f / name)):
        raise MeasuredError(
            f"{folder}: no .csv or .csv.gz in any <family>/validation or <family>/calibration"
        )
    shelf = Shelf(folder / "chips")
    for path in (path for family in families for path in files(family / part)):
        yield from ((stem(path), finding) for finding in _read(path, shelf))


def _entries(dataset: str, part: str, findings: Sequence[Finding]) -> list[Entry]:
    parts = [f for f in findings if isinstance(f, Part)]
    skips = [f for f in findings if isinstance(f, Skip)]
    entries = [e for p in parts for e in _compare(Entry(dataset, part, p.chip.name), p)]
    return _with_skips(entries, skips, Entry(dataset, part, ""))


def _read(path: Path, shelf: Shelf) -> list[Finding]:
    """What the reader found; a file that is not as its reader expects is skipped whole."""
    try:
        source = load(path)
    except MeasuredError as error:
        return [Skip("", 0, str(error))]
    try:
        return list(read(source, shelf))
    except UNREADABLE as error:
        return [Skip("", len(source.frame), reason_of(error))]


def _compare(bare: Entry, part: Part) -> Iterator[Entry]:
    predicted, failure = _predict(part)
    known = part.measured >= _LEAST  # NaN is not
    unknown = int((~known & (_measured_failure(part) == 0)).sum())
    reasons = {_UNMEASURED: unknown} if unknown else {}

    def entry(measure: str, rows: NDArray[np.bool_]) -> Entry:
        groups = None if part.groups is None else part.groups[rows]
        found = score(predicted[rows], part.measured[rows], groups)
        return replace(bare, measure=measure, scores=found, skipped=unknown, reasons=reasons)

    yield replace(entry(part.measure, known), failures=_failures(part, failure))
    if part.split_us is not None:
        late = known & (part.measured >= part.split_us)
        name = f"{part.split_us:g}_us"
        for when, rows in (("from", late), ("below", known & ~late)):
            if rows.any():
                yield entry(f"{part.measure}_{when}_{name}", rows)


def _predict(part: Part) -> tuple[FloatColumn, NDArray[np.int64]]:
    """What is compared, and the failure, for every candidate."""
    result = simulate(part.table, part.chip)
    failure = part.table.per_candidate(result.failure, np.maximum)
    if part.counter is None:
        return latencies_us(part.table, result) + part.added_us, failure
    values = np.where(result.failure > 0, np.inf, result.counters[part.counter])
    return np.asarray(part.table.per_candidate(values), dtype=np.float64), failure


def _measured_failure(part: Part) -> NDArray[np.int64]:
    if part.failed is None:
        return np.zeros(len(part.measured), dtype=np.int64)
    return part.failed


def _failures(part: Part, predicted: NDArray[np.int64]) -> dict[str, dict[str, int]]:
    real = _measured_failure(part)
    kinds = [f for f in Failure if f != Failure.ok and (real == f).any()]
    return {
        f.name: {
            "measured": int((real == f).sum()),
            "predicted": int((predicted[real == f] > 0).sum()),
        }
        for f in kinds
    }


def _with_skips(entries: list[Entry], skips: list[Skip], bare: Entry) -> list[Entry]:
    """Skipped rows join the entries of their chip; other chips get an entry of their own."""
    reasons: dict[str, Counter[str]] = {}
    for skip in skips:
        reasons.setdefault(skip.chip, Counter())[skip.reason] += skip.rows
    known = {e.chip for e in entries}
    unknown = [replace(bare, chip=chip) for chip in reasons if chip not in known]
    return [_joined(e, reasons.get(e.chip, Counter())) for e in (*entries, *unknown)]


def _joined(entry: Entry, more: Counter[str]) -> Entry:
    reasons = entry.reasons | {r: entry.reasons.get(r, 0) + n for r, n in more.items()}
    return replace(entry, skipped=sum(reasons.values()), reasons=reasons)
