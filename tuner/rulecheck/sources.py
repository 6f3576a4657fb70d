"""Where the truth of a check comes from."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.chip import Chip
from pruner.rulesets import Rules
from tuner.oracle import Recipe, is_small, load
from tuner.problem import Problem
from tuner.rulecheck.case import Case
from tuner.workloads import Workload


def of_spaces(recipes: Sequence[Recipe], base: Rules) -> list[Case]:
    """A case for each space of the catalogue, measured whole.

    Raises
    ------
    tuner.oracle.OracleError
        A large space that was not measured yet.
    """
    return [Case.of_oracle(load(recipe), base) for recipe in recipes]


def of_workloads(
    chips: Sequence[Chip], workloads: Sequence[Workload], base: Rules, seed: int
) -> list[Case]:
    """A case for each chip and workload: measured whole where the space is small, else against a
    reference as the benchmark has it.

    Raises
    ------
    tuner.spaces.SpaceError
        A chip cannot run a workload, or its programs cannot be simulated.
    """
    return [_case(Problem.of(w, chip), base, seed) for chip in chips for w in workloads]


def _case(problem: Problem, base: Rules, seed: int) -> Case:
    problem.check_readable()
    if is_small(problem):
        return Case.of_oracle(load(problem), base)
    return Case.of_problem(problem, base, seed)
