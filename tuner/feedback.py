"""Runs and the store: what a run is given by earlier ones, and what it leaves to the next."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hwsim.chips import chip_hash
from pruner.features import features
from pruner.prior import Prior, best_and_others, prior_of
from pruner.safety.proof import VERSION
from traces import Header, LogError, Trial, read
from traces.store import Measured, Store
from tuner.problem import Problem
from tuner.sketch import Sketch


@dataclass(frozen=True)
class Whitelisted:
    """The proven candidates of one program: hashes, and decision vectors of whatever sketch."""

    hashes: Collection[str] = frozenset()
    rows: Sequence[tuple[str, list[int]]] = ()

    def values(self, sketch: Sketch) -> dict[str, NDArray[np.bool_]]:
        """By decision the options ``(v,)`` that its proven candidates have; empty: none is its."""
        own = [
            row
            for candidate, decisions in self.rows
            if len(row := np.array(decisions, dtype=np.int64)) == sketch.width
            and sketch.hash(row) == candidate
        ]
        if not own:
            return {}
        used = np.stack(own)
        return {
            d.name: (d.options()[:, None] == used[None, :, d.start : d.stop]).all(2).any(1)
            for d in sketch.decisions
        }


NONE = Whitelisted()


def stored(problem: Problem, folder: str, snapshot: str) -> tuple[Whitelisted, Prior | None]:
    """What a snapshot of the store has for a problem.

    Raises
    ------
    LogError
        The store is not where the run had it, is damaged, or is another one.
    """
    if not snapshot:
        return NONE, None
    if not folder:
        raise LogError(f"the run had a store, {snapshot}; its folder is not known")
    contents = Store(folder).contents(snapshot)
    program = problem.program_hash
    own = [
        p
        for p in contents.proven
        if p.workload_hash == program and p.versions.get("analysis") == VERSION
    ]
    listed = Whitelisted(
        frozenset(p.candidate for p in own), [(p.candidate, p.decisions) for p in own]
    )
    prior = prior_of(contents, problem.chip.backend, chip_hash(problem.chip), program)
    return listed, prior


def remember(store: Store, problem: Problem, log: Path) -> int:
    """Add the best 100 of a run and a sample of the rest to the store; how many were new."""
    records = list(read(log))
    header = records[0]
    assert isinstance(header, Header)
    measured = [r for r in records if isinstance(r, Trial) and r.measurement is not None]
    entries = [_measured(problem, header, trial) for trial in measured]
    return store.add(best_and_others(e for e in entries if e is not None))


def _measured(problem: Problem, header: Header, trial: Trial) -> Measured | None:
    rows = np.array([trial.decisions], dtype=np.int64)
    table, readable = problem.read(problem.pool(trial.sketch, rows))
    if not readable.all() or trial.measurement is None:
        return None
    latency = trial.measurement.mean_us
    return Measured(
        chip=header.chip,
        chip_hash=header.chip_hash,
        backend=problem.chip.backend,
        workload=header.workload,
        workload_hash=header.workload_hash,
        candidate=trial.candidate,
        run=header.run,
        latency_us=latency if np.isfinite(latency) else None,
        features=features(table, problem.chip)[0].astype(float).tolist(),
        at=now(),
    )


def now() -> str:
    """Wall clock, UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
