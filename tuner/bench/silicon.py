"""The pruner against published measurements of real chips: spaces of which every schedule is known.

``python -m tuner.bench.silicon DIR`` reads a folder as ``prunelab fidelity`` does and asks, of each
problem with :data:`FEWEST` schedules that ran or more: what do the default trial rules prune, and
is it anything good; and how good is what the draft would measure first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from hwsim.chip import Chip
from hwsim.fidelity.data import MeasuredError, Part
from hwsim.fidelity.report import PARTS, datasets
from hwsim.table import KernelTable
from pruner.draft import draft_us
from pruner.rulesets import rule_set
from pruner.trial import TrialStage

FEWEST = 20
NEAR = 1.05  # of the best: what must not be pruned
FIRST = (8, 32)
DRAWS = 1000  # random batches for comparison

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Space:
    """One problem of a dataset; latencies are over the best measured one."""

    dataset: str
    part: str
    chip: str
    schedules: int
    failed: int
    failed_pruned: int
    ran_pruned: int
    near: int  # schedules within 5 % of the best
    near_pruned: int
    regret: float  # best that is kept / best - 1
    spearman: float  # draft against measurement
    first: tuple[float, ...]  # best of the first ones by the draft, for each of FIRST
    random: tuple[float, ...]  # median best of as many random ones


def spaces(folder: Path) -> Iterator[Space]:
    """Every problem that is large enough, calibration data included: nothing here is fitted."""
    for part in PARTS:
        for dataset, found in datasets(folder, part):
            if isinstance(found, Part) and found.measure == "latency":
                yield from _problems(dataset, part, found)


def _problems(dataset: str, part: str, found: Part) -> Iterator[Space]:
    if (groups := found.groups) is None:  # every row is a problem of its own
        return
    ran = np.isfinite(found.measured) & (found.measured > 0)
    known = ran if found.failed is None else ran | (found.failed > 0)
    for group in np.unique(groups[ran]):
        rows = np.flatnonzero(known & (groups == group))
        if ran[rows].sum() >= FEWEST:
            yield _space(dataset, part, found, rows)


def _space(dataset: str, part: str, found: Part, rows: NDArray[np.int64]) -> Space:
    table, us = found.table.take_candidates(rows), found.measured[rows]
    ran = np.isfinite(us) & (us > 0)
    real = np.where(ran, us, np.inf) / us[ran].min()
    kept = _kept(table, found.chip, real, us[ran].min())
    near, draft = real <= NEAR, draft_us(table, found.chip)
    by_draft = real[np.argsort(draft, kind="stable")]
    return Space(
        dataset=dataset,
        part=part,
        chip=found.chip.name,
        schedules=len(rows),
        failed=int((~ran).sum()),
        failed_pruned=int((~ran & ~kept).sum()),
        ran_pruned=int((ran & ~kept).sum()),
        near=int(near.sum()),
        near_pruned=int((near & ~kept).sum()),
        regret=float(real[kept].min(initial=np.inf)) - 1,
        spearman=float(spearmanr(draft[ran], real[ran]).statistic),
        first=tuple(float(by_draft[:n].min()) for n in FIRST),
        random=tuple(_random_best(real, n) for n in FIRST),
    )


def _kept(table: KernelTable, chip: Chip, real: Floats, best_us: float) -> NDArray[np.bool_]:
    """What the default rules keep when they know the best latency: then they are strictest."""
    stage = TrialStage(rule_set("default").trial, None, chip)
    stage.observe(table.take_candidates([int(np.argmin(real))]), ["best"], [best_us])
    judged = stage.judge(table, [""] * len(real), rescue=False)
    return np.asarray(judged.code < 0)


def _random_best(real: Floats, n: int) -> float:
    rng = np.random.default_rng(0)
    draws = [real[rng.choice(len(real), min(n, len(real)), replace=False)] for _ in range(DRAWS)]
    return float(np.median([d.min() for d in draws]))


def table(found: Iterator[Space]) -> Iterator[str]:
    """Lines of Markdown."""
    first = " | ".join(f"draft's first {n} | random {n}" for n in FIRST)
    yield (
        "| dataset | part | chip | schedules | failed, pruned | ran, pruned | near the best, pruned"
        f" | regret | draft, Spearman | {first} |"
    )
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|" + "---:|---:|" * len(FIRST)
    for s in found:
        batches = " | ".join(f"{d:.2f}x | {r:.2f}x" for d, r in zip(s.first, s.random, strict=True))
        yield (
            f"| {s.dataset} | {s.part} | {s.chip} | {s.schedules:,}"
            f" | {s.failed_pruned} of {s.failed}"
            f" | {s.ran_pruned} of {s.schedules - s.failed} | {s.near_pruned} of {s.near}"
            f" | {s.regret:.1%} | {s.spearman:.2f} | {batches} |"
        )


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit("usage: python -m tuner.bench.silicon DIR")
    try:
        for line in table(spaces(Path(arguments[0]))):
            print(line, flush=True)
    except MeasuredError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
