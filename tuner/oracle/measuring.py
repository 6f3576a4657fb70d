"""Measuring a space whole: every candidate by columns, part by part, so that nothing is lost."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from tuner.bench.plan import file_name
from tuner.oracle.folders import file_of
from tuner.oracle.measured import Oracle, numbering_of
from tuner.oracle.recipes import OracleError
from tuner.oracle.store import Identity, identity_of, is_whole, table_of, writer
from tuner.problem import Problem
from tuner.truth import Truth, truth

CHUNK = 2**14  # candidates that are simulated together: their columns stay in the cache
PART = 2**17  # candidates of a file; a torn one is measured again
LIMIT, LIMIT_BY_REPLAY = 50_000_000, 50_000  # minutes either way

Tell = Callable[[int], None]  # so many more candidates are measured


def name_of(problem: Problem) -> str:
    """What the oracle of a problem is called: its recipe, else chip and workload."""
    return problem.space or file_name(f"{problem.chip.name}__{problem.workload.name}")


def measure(problem: Problem, folder: Path, tell: Tell = lambda n: None) -> Path:
    """Measure every candidate into ``folder``; what is there already is kept.  The file comes back.

    Raises
    ------
    OracleError
        The space is too large, or the folder holds another oracle of that name.
    """
    check_size(problem)
    path = file_of(name_of(problem), folder)
    with _alone(path.with_suffix(".lock")):
        _measure(problem, path, tell)
    return path


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Wait until no other process measures the same space into the same folder."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with open(lock, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
        lock.unlink(missing_ok=True)  # who waits for it, finds the space measured


def _measure(problem: Problem, path: Path, tell: Tell) -> None:
    identity = identity_of(problem)
    parts = path.with_suffix(".parts")
    if is_whole(path, identity, problem.size):
        tell(problem.size)
    else:
        parts.mkdir(exist_ok=True)
        files = [_part(problem, identity, parts, i, tell) for i in _parts(problem.size)]
        _join(path, identity, files)
    shutil.rmtree(parts, ignore_errors=True)


def check_size(problem: Problem) -> None:
    """``OracleError`` where a space cannot be measured whole in reasonable time."""
    limit = LIMIT if problem.cheap else LIMIT_BY_REPLAY
    if problem.size > limit:
        raise OracleError(
            f"{problem.label} on {problem.chip.name}: {problem.size:,} candidates,"
            f" at most {limit:,} are measured whole; a recipe can restrict the space"
        )


def survey(problem: Problem) -> Oracle:
    """Measure every candidate in memory."""
    found = [f for _, f in _chunks(problem, range(problem.size))]
    return Oracle(
        problem,
        np.concatenate([f.latency_us for f in found]),
        np.concatenate([f.failure for f in found]),
        np.concatenate([f.rejects for f in found]),
    )


def _parts(size: int) -> list[range]:
    return [range(first, min(first + PART, size)) for first in range(0, size, PART)]


def _chunks(problem: Problem, ranks: range) -> Iterator[tuple[int, Truth]]:
    numbering = numbering_of(problem)
    for first in ranks[::CHUNK]:
        last = min(first + CHUNK, ranks.stop)
        yield first, truth(problem, numbering.pool(np.arange(first, last)))


def _part(problem: Problem, identity: Identity, parts: Path, ranks: range, tell: Tell) -> Path:
    path = parts / f"{ranks.start:012}.parquet"
    if is_whole(path, identity, len(ranks)):
        tell(len(ranks))
        return path
    with writer(path, identity) as out:
        for first, found in _chunks(problem, ranks):
            out.write_table(table_of(first, found))
            tell(len(found.latency_us))
    return path


def _join(path: Path, identity: Identity, parts: list[Path]) -> None:
    with writer(path, identity) as out:
        for part in parts:
            out.write_table(pq.read_table(part))
