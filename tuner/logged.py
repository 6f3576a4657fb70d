"""A candidate of a run's log, brought back: its problem, its decisions, its chip."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from hwsim.chip import Chip, ChipError
from hwsim.chips import chip_hash
from traces import Header, LogError, Trial, read
from tuner.bench.folder import PLAN
from tuner.bench.plan import Plan
from tuner.oracle import problem_of, recipe_named
from tuner.problem import Problem
from tuner.search import Pool
from tuner.workloads import Workload, WorkloadError, resolve
from tuner.written import named


class ChangedError(LogError):
    """The chip, program or rules that a log was made with are others today."""


@dataclass(frozen=True)
class LoggedRun:
    """A run as its log has it, with the problem that it was about; ``plan`` is its folder's."""

    header: Header
    trials: list[Trial]
    plan: Plan | None
    problem: Problem

    def pool(self, trial: Trial) -> Pool:
        """One of its candidates alone."""
        return self.problem.pool(trial.sketch, np.array([trial.decisions], dtype=np.int64))


@dataclass(frozen=True)
class Logged:
    """One trial of a log with what it takes to look at it again."""

    run: LoggedRun
    trial: Trial

    @property
    def problem(self) -> Problem:
        """The problem of its run."""
        return self.run.problem

    @property
    def pool(self) -> Pool:
        """The candidate alone."""
        return self.run.pool(self.trial)

    @property
    def named(self) -> dict[str, str]:
        """The candidate's decisions as they are written on the command line."""
        sketch = self.problem.sketches[self.trial.sketch]
        return named(sketch, np.array(self.trial.decisions, dtype=np.int64))

    @property
    def decisions(self) -> dict[str, int]:
        """The candidate's decisions by name."""
        names = self.problem.sketches[self.trial.sketch].names
        return dict(zip(names, self.trial.decisions, strict=True))


def logged(log: Path, wanted: str | None, chip_file: str | None = None) -> Logged:
    """The candidate whose hash begins with ``wanted``, or trial number ``wanted``; None: the best.

    Raises
    ------
    LogError
        No such log or candidate, several candidates, no successful measurement, or a chip, program
        or design space that has changed since.
    """
    header, trials = _read(log)
    trial = _best(log, trials) if wanted is None else _named(log, trials, wanted)
    run = _brought_back(log, header, trials, chip_file)
    sketches = run.problem.sketches
    row = np.array(trial.decisions, dtype=np.int64)
    if trial.sketch >= len(sketches) or sketches[trial.sketch].hash(row) != trial.candidate:
        raise LogError(f"{log}: the design space of {header.workload} has changed since")
    return Logged(run, trial)


def logged_run(log: Path, chip_file: str | None = None) -> LoggedRun:
    """The whole run; ``LogError`` as :func:`logged`."""
    return _brought_back(log, *_read(log), chip_file)


def _brought_back(
    log: Path, header: Header, trials: list[Trial], chip_file: str | None
) -> LoggedRun:
    plan = _plan(log)
    chip, workload = _chip(plan, header, log, chip_file), _workload(plan, header)
    problem = _problem(header, workload, chip)
    if problem.program_hash != header.workload_hash:
        raise ChangedError(f"{log}: the program of workload {header.workload} has changed since")
    return LoggedRun(header, trials, plan, problem)


def _problem(header: Header, workload: Workload, chip: Chip) -> Problem:
    if header.space:
        return problem_of(recipe_named(header.space), chip)
    return Problem.of(workload, chip)


def _read(log: Path) -> tuple[Header, list[Trial]]:
    records = read(log)
    header = next(records)
    assert isinstance(header, Header)
    return header, [r for r in records if isinstance(r, Trial)]


def _named(log: Path, trials: list[Trial], wanted: str) -> Trial:
    if wanted.isdecimal() and int(wanted) < len(trials):
        return trials[int(wanted)]
    found = [t for t in trials if t.candidate.startswith(wanted)]
    different = len({t.candidate for t in found})  # one that a limit barred may be offered again
    if different != 1:
        what = "no candidate begins" if not found else f"{different} candidates begin"
        raise LogError(
            f"{log}: {what} with {wanted!r}; expected a hash or a trial number below {len(trials)}"
        )
    return found[-1]


def _best(log: Path, trials: list[Trial]) -> Trial:
    worked = [t for t in trials if t.measurement is not None and t.measurement.failure is None]
    if not worked:
        raise LogError(f"{log}: no candidate was measured successfully; name one")
    return min(worked, key=lambda t: (t.measurement.mean_us if t.measurement else 0.0, t.index))


def _plan(log: Path) -> Plan | None:
    """The plan of the folder that the log lies in; None where there is none."""
    try:
        return msgspec.json.decode((log.resolve().parent.parent / PLAN).read_bytes(), type=Plan)
    except (OSError, msgspec.MsgspecError):
        return None


def check_rule_files(log: Path, plan: Plan | None) -> None:
    """``LogError`` names a rule file of the run that is no longer there."""
    for path in plan.rule_files if plan else ():
        if not Path(path).is_file():
            start = "" if Path(path).is_absolute() else ", and start where the run was started"
            raise LogError(
                f"{log}: the run's rule file {path} is missing: put it back where it was{start}"
            )


def _workload(plan: Plan | None, header: Header) -> Workload:
    """The workload as the user gave it (a ``.py`` file has a path), else by its name."""
    for given in plan.workloads if plan else ():
        try:
            found = resolve(given)
        except WorkloadError:  # the file of another workload of the plan may have gone
            continue
        if found.name == header.workload:
            return found
    return resolve(header.workload)


def _chip(plan: Plan | None, header: Header, log: Path, chip_file: str | None) -> Chip:
    plan = plan or Plan()
    if chip_file:
        found: Chip | None = plan.chip(chip_file)
    else:
        loaded = (_loaded(plan, given) for given in dict.fromkeys((*plan.chips, header.chip)))
        found = next((c for c in loaded if c and c.name == header.chip), None)
    if found is None or found.name != header.chip:
        raise LogError(f"{log}: is of chip {header.chip}; give its file with --chip")
    if chip_hash(found) != header.chip_hash:
        raise ChangedError(
            f"{log}: chip {header.chip} has changed since: hash {chip_hash(found)}, the log has"
            f" {header.chip_hash}"
        )
    return found


def _loaded(plan: Plan, given: str) -> Chip | None:
    try:
        return plan.chip(given)
    except ChipError:  # a file that has moved; --chip says where to
        return None
