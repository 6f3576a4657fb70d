"""Getting an oracle: the one that ships, one that was measured before, or measured on the spot."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tuner.oracle.folders import SHIPPED, default_folder, file_of
from tuner.oracle.measured import Oracle
from tuner.oracle.measuring import name_of, survey
from tuner.oracle.recipes import OracleError, Recipe
from tuner.oracle.spaces import problem_of
from tuner.oracle.store import identity_of, read_truth
from tuner.problem import Problem
from tuner.truth import truth

ON_THE_SPOT = 250_000  # candidates: a few seconds
ON_THE_SPOT_BY_REPLAY = 500  # on the road that replays each of them
CHECKED = 64  # candidates of a file that are simulated again before it is believed
CLOSE = 1e-9  # relative: other processors round other last digits


def load(what: Recipe | Problem, folder: Path | None = None) -> Oracle:
    """The oracle of a recipe or a problem.

    Without ``folder`` the package's own and the user's (:func:`default_folder`) are looked through,
    and a small space that neither has is measured on the spot.  A file is held against the
    simulator on a few candidates before it is believed.

    Raises
    ------
    OracleError
        ``folder`` has none, or one of another chip, workload, space or version; or the space is
        large and was not measured yet.  One line says what to do.
    """
    problem = problem_of(what) if isinstance(what, Recipe) else what
    if folder is not None:
        return _read(problem, folder)
    refused: list[str] = []
    found = _known(problem, refused)
    if found is None:
        because = f" ({refused[-1]})" if refused else ""
        raise OracleError(
            f"{problem.label} on {problem.chip.name}: {problem.size:,} candidates are not measured"
            f" yet; prunelab oracle measures them{because}"
        )
    return found


def find(problem: Problem) -> Oracle | None:
    """As :func:`load` without a folder; None where the space was not measured and is not small."""
    return _known(problem, [])


def _known(problem: Problem, refused: list[str]) -> Oracle | None:
    """``refused`` hears of files that are not for this problem: another chip file or version."""
    for place in (SHIPPED, default_folder()):
        if file_of(name_of(problem), place).exists():
            try:
                return _read(problem, place)
            except OracleError as error:
                refused.append(str(error))
    return survey(problem) if is_small(problem) else None


def is_small(problem: Problem) -> bool:
    """Whether a space is measured on the spot."""
    return problem.size <= (ON_THE_SPOT if problem.cheap else ON_THE_SPOT_BY_REPLAY)


def _read(problem: Problem, folder: Path) -> Oracle:
    path = file_of(name_of(problem), folder)
    found = read_truth(path, identity_of(problem))
    oracle = Oracle(problem, found.latency_us, found.failure, found.rejects)
    _hold(path, oracle)
    return oracle


def _hold(path: Path, oracle: Oracle) -> None:
    """``OracleError`` where the simulator says something else today."""
    ranks = np.unique(np.linspace(0, len(oracle) - 1, CHECKED).astype(np.int64))
    now = truth(oracle.problem, oracle.pool_of(ranks))
    same = np.isclose(now.latency_us, oracle.latency_us[ranks], rtol=CLOSE, atol=0)
    if not (same & (now.rejects == oracle.rejects[ranks])).all():
        raise OracleError(f"{path}: the simulator has changed since; measure it again")
