"""Candidates of real design spaces, made once a session."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from tvm.s_tir import ScheduleError

from hwsim.chips import load_chip
from tuner.problem import Problem
from tuner.workloads import resolve


class Candidate(NamedTuple):
    """A replayed candidate before the postprocessors, with where it comes from."""

    problem: Problem
    sketch: int
    row: Any
    schedule: Any


@cache
def _problem(spec: str, chip: str) -> Problem:
    return Problem.of(resolve(spec), load_chip(chip))


def _candidates(spec: str, chip: str, n: int, seed: int = 0) -> list[Candidate]:
    problem, rng = _problem(spec, chip), np.random.default_rng(seed)
    found = []
    for sketch in problem.sketches:
        for row in sketch.sample(rng, n):
            with suppress(ScheduleError):
                found.append(Candidate(problem, sketch.index, row, sketch.replay(row)))
    assert found
    return found


@pytest.fixture(scope="session")
def candidates() -> Callable[..., list[Candidate]]:
    """``candidates(spec, chip, n, seed)``: n random candidates of each sketch that TVM replays."""
    return _candidates
