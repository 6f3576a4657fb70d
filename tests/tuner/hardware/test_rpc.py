"""A TVM RPC tracker and server on loopback: measuring, a dead tracker, a board that vanishes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from hwsim.chips import load_chip
from traces import Measurement
from tuner.cli.app import run
from tuner.hardware import Address, HardwareError
from tuner.hardware.backend import RealBackend
from tuner.hardware.bench import Bench, missing
from tuner.measure import Job
from tuner.problem import Problem
from tuner.workloads import resolve

pytestmark = pytest.mark.slow
KEY = "board"
START_S = 120


class Daemon:
    """``python -m tvm.exec.NAME`` in a process group of its own, once it says where it listens."""

    def __init__(self, folder: Path, name: str, *arguments: str) -> None:
        self.log = folder / f"{name}-{time.monotonic_ns()}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"tvm.exec.{name}", "--host", "127.0.0.1", *arguments],
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.port = self._port()

    def _port(self) -> int:
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            found = re.search(r"bind to 127\.0\.0\.1:(\d+)", self.log.read_text())
            if found:
                return int(found[1])
            time.sleep(0.2)
        raise RuntimeError(self.log.read_text())

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@pytest.fixture
def tracker(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path, "rpc_tracker", "--port", "19190", "--port-end", "19290")
    yield daemon
    daemon.kill()


def board(folder: Path, tracker: Daemon) -> Daemon:
    at = f"127.0.0.1:{tracker.port}"
    ports = "--port", "19300", "--port-end", "19400"
    daemon = Daemon(folder, "rpc_server", "--tracker", at, "--key", KEY, *ports)
    end = time.monotonic() + START_S
    while missing(Address("127.0.0.1", tracker.port, KEY)) and time.monotonic() < end:
        time.sleep(0.2)
    return daemon


def jobs(n: int) -> list[Job]:
    problem = Problem.of(resolve("gemm:16x16x16:float32"), load_chip("local-cpu"))
    sketch = problem.sketches[2]
    rows = sketch.sample(np.random.default_rng(0), n)
    return [Job(sketch.hash(r), problem.handle(2, r)) for r in rows]


def test_a_board_that_vanishes_costs_nothing_that_was_measured(
    tmp_path: Path, tracker: Daemon
) -> None:
    server = board(tmp_path, tracker)
    kept: dict[str, Measurement] = {}

    def keep(candidate: str, measurement: Measurement) -> None:
        kept[candidate] = measurement
        if len(kept) == 2:
            server.kill()

    backend = f"rpc://127.0.0.1:{tracker.port}/{KEY}"
    four = jobs(4)
    try:
        with pytest.raises(HardwareError, match="go on with --resume") as error:
            RealBackend(backend, load_chip("local-cpu"), 2, keep).measure(four)
    finally:
        server.kill()
    assert "\n" not in str(error.value)
    assert list(kept) == [job.candidate for job in four[:2]]
    assert all(m.failure is None and len(m.latencies_us) == 2 for m in kept.values())


def test_a_tracker_without_a_board_and_no_tracker_are_one_line(
    tmp_path: Path, tracker: Daemon, capsys: pytest.CaptureFixture[str]
) -> None:
    chip = load_chip("local-cpu")
    with pytest.raises(HardwareError, match="has no board under key 'board'"):
        Bench(f"rpc://127.0.0.1:{tracker.port}/{KEY}", chip, 1)
    tracker.kill()
    code = run([
        "tune", "--chip", "local-cpu", "--workload", "gemm:16x16x16:float32", "--trials", "4",
        "--backend", f"rpc://127.0.0.1:{tracker.port}/{KEY}", "--out", str(tmp_path / "out"),
    ])  # fmt: skip
    said = capsys.readouterr().err
    assert code == 2
    assert "does not answer" in said
    assert "Traceback" not in said


def test_what_runs_too_long_is_a_measured_timeout() -> None:
    chip = load_chip("local-cpu")
    hasty = msgspec.structs.replace(chip, bench=msgspec.structs.replace(chip.bench, timeout_s=1e-3))
    kept: dict[str, Measurement] = {}
    found = RealBackend("local", hasty, 2, kept.__setitem__).measure(jobs(1))
    assert [m.failure for m in found] == ["timeout"]
    assert list(kept.values()) == found
