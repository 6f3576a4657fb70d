"""Where the truth of a check comes from."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.chip import Chip
from pruner.rulesets import Rules
from tuner.bench.reference import build
from tuner.problem import Problem
from tuner.rulecheck.case import Case
from tuner.workloads import Workload


def of_workloads(
    chips: Sequence[Chip], workloads: Sequence[Workload], base: Rules, seed: int
) -> list[Case]:
    """A case for each chip and workload, against a reference as the benchmark has it.

    Raises
    ------
    tuner.spaces.SpaceError
        A chip cannot run a workload, or its programs cannot be simulated.
    """
    cases = []
    for chip in chips:
        for workload in workloads:
            problem = Problem.of(workload, chip)
            problem.check_readable()
            cases.append(Case(problem, build(problem, [], seed), base))
    return cases
