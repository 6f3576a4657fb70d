"""Trials and virtual seconds until runs are within 1 % of the optimum of spaces that are known
whole.

``python -m tuner.bench.convergence [--space NAME ...] [--strategy LIST] [--arms LIST] [--seeds N]
[--trials N] [--batch N] [--out FILE]`` makes the runs of ``prunelab bench --space``, candidate by
candidate, but ends each after the round in which it gets there (``prunelab oracle`` has to have
measured the spaces; all of the catalogue without names).
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from tuner.arms import ARMS
from tuner.bench.metrics import as_json
from tuner.bench.plan import CONTROL, Plan
from tuner.bench.reached import Reached, reach
from tuner.bench.specs import problem_in, spec_of
from tuner.measure import Memory
from tuner.oracle import Oracle, OracleError, catalogue, load
from tuner.runs import Shared
from tuner.search import STRATEGIES

Job = tuple[Plan, str, str, str]  # plan, space, strategy, arm: the seeds of one line of the table


@dataclass(frozen=True)
class Line:
    """What the seeds of one space, strategy and arm needed."""

    space: str
    strategy: str
    arm: str
    seeds: tuple[Reached, ...]

    @property
    def trials(self) -> list[float]:
        """Trials of each seed, ``inf`` where it never got there."""
        return [float(s.trials) if s.there else math.inf for s in self.seeds]

    @property
    def virtual_s(self) -> list[float]:
        """Virtual seconds of each seed, ``inf`` where it never got there."""
        return [s.virtual_s if s.there else math.inf for s in self.seeds]

    def sooner(self, control: Line) -> tuple[float, float]:
        """How many times sooner than the control, in trials and in virtual time.

        The median over seeds; a run that never got there counts with all that it did.
        """
        pairs = list(zip(control.seeds, self.seeds, strict=True))
        return (
            statistics.median(c.trials / own.trials for c, own in pairs),
            statistics.median(c.virtual_s / own.virtual_s for c, own in pairs),
        )


def lines(plan: Plan) -> Iterator[Line]:
    """A line for each space, strategy and arm, the control first; as many at a time as there are
    processors.
    """
    arms = sorted(plan.arms, key=lambda a: a != CONTROL)
    jobs: list[Job] = [
        (plan, space, strategy, arm)
        for space in plan.spaces
        for strategy in plan.strategies
        for arm in arms
    ]
    workers = min(len(jobs), os.cpu_count() or 1)
    if workers == 1:
        yield from map(line, jobs)
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap(line, jobs)


def line(job: Job) -> Line:
    """Every seed of one space, strategy and arm."""
    plan, space, strategy, arm = job
    oracle, shared = _known(plan, space)
    seeds = range(plan.seed, plan.seed + plan.seeds)
    found = [reach(oracle, spec_of(plan, strategy, arm, seed), shared) for seed in seeds]
    return Line(space, strategy, arm, tuple(found))


@cache
def _known(plan: Plan, space: str) -> tuple[Oracle, Shared]:
    """A space's oracle, and the simulated outcomes that its runs share; once a process."""
    group = next(g for g in plan.groups() if g.space == space)
    return load(problem_in(plan, group)), Shared(Memory())


def table(found: Iterable[Line]) -> Iterator[str]:
    """Lines of Markdown; then, where a control was run, the geometric means of what others gain.

    ``found``: seeds that measured a candidate within 1 %; ``reached``: whose incumbent is one.
    """
    yield "| space | strategy | arm | found | trials | reached | trials | lowest | highest | virtual s | sooner in trials | in time |"  # noqa: E501 - a table's head
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    controls: dict[tuple[str, str], Line] = {}
    gains: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for own in found:
        key, gain = (own.space, own.strategy), None
        if own.arm == CONTROL:
            controls[key] = own
        elif key in controls:
            gain = own.sooner(controls[key])
            gains.setdefault((own.strategy, own.arm), []).append(gain)
        yield _row(own, gain)
    for (strategy, arm), several in gains.items():
        trials, time = (statistics.geometric_mean(side) for side in zip(*several, strict=True))
        yield (
            f"{strategy} {arm}: {trials:.2f}x sooner in trials, {time:.2f}x in virtual time,"
            f" geometric means over {len(several)} spaces"
        )


def _row(own: Line, gain: tuple[float, float] | None) -> str:
    trials, found = own.trials, [s.found for s in own.seeds]
    cells = [own.space, own.strategy, own.arm]
    cells += [_finite(found), _number(statistics.median(found)), _finite(trials)]
    cells += [_number(v) for v in (statistics.median(trials), min(trials), max(trials))]
    cells += [_number(statistics.median(own.virtual_s))]
    cells += [f"{g:.2f}x" for g in gain] if gain else ["-", "-"]
    return "| " + " | ".join(cells) + " |"


def _finite(values: Sequence[float]) -> str:
    return f"{sum(map(math.isfinite, values))}/{len(values)}"


def _number(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else "-"


def as_data(plan: Plan, found: Sequence[Line]) -> dict[str, Any]:
    """All that the table says and every seed, as JSON has it; null: never within 1 %."""
    return {"header": msgspec.to_builtins(plan), "cells": [_cell(own) for own in found]}


def _cell(own: Line) -> dict[str, Any]:
    return {
        "space": own.space,
        "strategy": own.strategy,
        "arm": own.arm,
        "reached": sum(s.there for s in own.seeds),
        "trials_to_find": [as_json(s.found) for s in own.seeds],
        "trials_to_1pct": [as_json(v) for v in own.trials],
        "virtual_s_to_1pct": [as_json(v) for v in own.virtual_s],
        "measured": [s.trials for s in own.seeds],
    }


def _some_of(known: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """A comma-separated list of known names."""

    def names(text: str) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(text.split(",")))
        if unknown := [name for name in found if name not in known]:
            expected = ", ".join(known)
            raise argparse.ArgumentTypeError(f"{unknown[0]!r}: expected some of {expected}")
        return found

    return names


def _asked(arguments: Sequence[str]) -> tuple[Plan, Path | None]:
    ask = argparse.ArgumentParser("python -m tuner.bench.convergence")
    arms = [name for name, arm in ARMS.items() if not arm.tvm]
    ask.add_argument("--space", nargs="+", choices=catalogue(), metavar="NAME")
    ask.add_argument("--strategy", type=_some_of(STRATEGIES), default=("evolutionary",))
    ask.add_argument("--arms", type=_some_of(arms), default=(CONTROL,))
    ask.add_argument("--seeds", type=int, default=10)
    ask.add_argument("--trials", type=int, default=1000)
    ask.add_argument("--batch", type=int, default=32)
    ask.add_argument("--out", type=Path, help="JSON file")
    given = ask.parse_args(arguments)
    for name in ("seeds", "trials", "batch"):
        if getattr(given, name) < 1:
            ask.error(f"argument --{name}: expected 1 or more")
    plan = Plan(
        chips=(),
        workloads=(),
        spaces=tuple(dict.fromkeys(given.space or catalogue())),
        arms=given.arms,
        strategies=given.strategy,
        seeds=given.seeds,
        trials=given.trials,
        batch=given.batch,
    )
    return plan, given.out


def main(arguments: Sequence[str]) -> None:
    plan, out = _asked(arguments)
    found: list[Line] = []
    try:
        for text in table(_kept(lines(plan), found)):
            print(text, flush=True)
    except OracleError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    if out:
        out.write_bytes(msgspec.json.format(msgspec.json.encode(as_data(plan, found))) + b"\n")


def _kept(stream: Iterable[Line], into: list[Line]) -> Iterator[Line]:
    for own in stream:
        into.append(own)
        yield own


if __name__ == "__main__":
    main(sys.argv[1:])
