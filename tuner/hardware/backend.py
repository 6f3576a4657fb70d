"""Measuring candidates on real hardware, by TVM's own runners."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tvm.s_tir.meta_schedule.arg_info import ArgInfo
from tvm.s_tir.meta_schedule.runner import RunnerInput, RunnerResult

from hwsim.chip import Chip
from traces import Measurement
from tuner import spaces
from tuner.hardware.address import HardwareError
from tuner.hardware.bench import BUILD_TIMEOUT_S, Bench
from tuner.hardware.failures import of_build, of_run
from tuner.hardware.signals import held
from tuner.measure import Job

Keep = Callable[[str, Measurement], None]  # candidate, its measurement
_DEVICE = "cpu"  # the only kind of real chip that has a design space here


class RealBackend:
    """A real chip: candidates are built ``compile_workers`` at a time and run one after another.

    A new best is run once more in memory of its own.

    ``keep`` hears of each measurement as it is made, so that none is lost when the hardware is.

    Raises
    ------
    HardwareError
        There is no such hardware.
    """

    needs_schedule = True

    def __init__(self, name: str, chip: Chip, repeats: int, keep: Keep) -> None:
        self._name, self._chip, self._keep = name, chip, keep
        self._target = spaces.target(chip)
        with held():
            self._bench = Bench(name, chip, repeats)

    @property
    def name(self) -> str:
        """``local``, or the tracker's address."""
        return self._name

    def measure(self, jobs: Sequence[Job], best_us: float = 0.0) -> list[Measurement]:
        """One measurement a job, in order; what does not build or run is a failure.

        Raises
        ------
        HardwareError
            The hardware has gone: what was measured so far was kept.
        """
        if not jobs:
            return []
        built, compile_s = self._build(jobs)
        found: list[Measurement] = []
        for job, one in zip(jobs, built, strict=True):
            found.append(self._one(job, one, compile_s, best_us))
            best_us = min(best_us, found[-1].mean_us)
        return found

    def _build(self, jobs: Sequence[Job]) -> tuple[list[Any], float]:
        """The builder's results, and the seconds that a worker spent on each on average."""
        started = time.perf_counter()
        with held():
            built = self._bench.build([job.handle.schedule.mod for job in jobs], self._target)
        workers = min(self._chip.bench.compile_workers, len(jobs))
        return built, (time.perf_counter() - started) * workers / len(jobs)

    def _one(self, job: Job, built: Any, compile_s: float, best_us: float) -> Measurement:
        if failed := of_build(built, BUILD_TIMEOUT_S):
            found = _failed(*failed, compile_s)
        else:
            found = self._run(job, Path(built.value), compile_s, best_us)
        self._keep(job.candidate, found)
        return found

    def _run(self, job: Job, library: Path, compile_s: float, best_us: float) -> Measurement:
        started = time.perf_counter()
        arguments = ArgInfo.from_entry_func(job.handle.schedule.mod, remove_preproc=True)
        result = self._timed(RunnerInput(str(library), _DEVICE, arguments), best_us)
        shutil.rmtree(library.parent, ignore_errors=True)
        run_s = time.perf_counter() - started
        if failed := of_run(result.error_msg):
            if gone := self._bench.gone():
                raise HardwareError(
                    f"{gone}; what was measured is kept, go on with --resume when it is back"
                )
            return _failed(*failed, compile_s, run_s)
        return _measured(result, compile_s, run_s)

    def _timed(self, library: RunnerInput, best_us: float) -> RunnerResult:
        """One run, two of a new best; the second one's failure is that of both."""
        with held():
            first = self._bench.run(library)
            if first.error_msg or _measured(first).mean_us >= best_us:
                return first
            second = self._bench.run(library)
        if second.error_msg:
            return second
        return RunnerResult([*first.run_secs, *second.run_secs], None)


def _measured(result: RunnerResult, compile_s: float = 0.0, run_s: float = 0.0) -> Measurement:
    """What a run that worked says."""
    return Measurement(
        latencies_us=[_short(float(s) * 1e6) for s in result.run_secs],
        compile_s=_short(compile_s),
        run_s=_short(run_s),
    )


def _failed(failure: str, error: str, compile_s: float, run_s: float = 0.0) -> Measurement:
    return Measurement(
        latencies_us=[],
        failure=failure,
        error=error,
        compile_s=_short(compile_s),
        run_s=_short(run_s),
    )


def _short(value: float) -> float:
    return float(f"{value:.6g}")
