"""What comes out as a new best is run once more, on hardware that is made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tvm.s_tir.meta_schedule.runner import RunnerResult
from tvm.support.popen_pool import MapResult, StatusKind

from hwsim.chips import load_chip
from traces import Measurement
from tuner.hardware import backend
from tuner.measure import Job

Measure = Callable[[Sequence[RunnerResult]], list[Measurement]]


def ran(*latencies_us: float) -> RunnerResult:
    return RunnerResult([us * 1e-6 for us in latencies_us], None)


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measure:
    """Measures one job for each that the runs, in their order, are enough for."""

    def measured(runs: Sequence[RunnerResult]) -> list[Measurement]:
        left = list(runs)

        def build(modules: Sequence[Any], target: Any) -> list[MapResult]:
            folders = [tmp_path / f"{i}" for i in range(len(modules))]
            return [MapResult(StatusKind.COMPLETE, str(f / "candidate.so")) for f in folders]

        fake = SimpleNamespace(build=build, run=lambda job: left.pop(0), gone=lambda: None)
        monkeypatch.setattr(backend, "Bench", lambda *_: fake)
        monkeypatch.setattr(backend.ArgInfo, "from_entry_func", lambda *_, **__: [])
        real = backend.RealBackend("local", load_chip("local-cpu"), 2, lambda *_: None)
        found: list[Measurement] = []
        while left:
            best_us = min((m.mean_us for m in found), default=float("inf"))
            job = Job(f"{len(found)}", SimpleNamespace(schedule=_Schedule))
            found += real.measure([job], best_us)
        return found

    return measured


class _Schedule:
    mod = None


def test_a_lucky_run_is_averaged_with_a_second_one(measure: Measure) -> None:
    lucky, slower = measure([ran(90, 90), ran(100, 100), ran(96, 96)])
    assert lucky.latencies_us == [90, 90, 100, 100]
    assert slower.latencies_us == [96, 96]  # beyond the mean of 95: once is enough


def test_every_new_best_is_run_twice_and_nothing_else(measure: Measure) -> None:
    found = measure([ran(100), ran(100), ran(300), ran(80), ran(82), ran(81.5)])
    assert [len(m.latencies_us) for m in found] == [2, 1, 2, 1]
    assert found[2].mean_us == pytest.approx(81)


def test_what_fails_the_second_time_has_failed(measure: Measure) -> None:
    (found,) = measure([ran(100), RunnerResult(None, "RuntimeError: gone wrong")])
    assert found.failure == "launch_error"
    assert found.latencies_us == []
