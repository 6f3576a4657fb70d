"""Compile workers and a runner for one chip, time limits everywhere; and whether it is there."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from functools import partial
from typing import Any

from tvm import rpc
from tvm.s_tir.meta_schedule.runner import (
    EvaluatorConfig,
    LocalRunner,
    RPCConfig,
    RPCRunner,
    RunnerInput,
    RunnerResult,
)
from tvm.support.popen_pool import MapResult, PopenPoolExecutor

from hwsim.chip import Chip
from tuner.hardware.address import Address, HardwareError, address_of
from tuner.hardware.worker import build

CONNECT_S = 5.0  # a tracker that takes longer to answer is taken for dead
BUILD_TIMEOUT_S = 30.0  # TVM's default; a worker that takes longer is killed
WORKER_BUILDS = 64  # builds until a compile worker is replaced; TVM's leak memory


class Bench:
    """Builder and runner.  ``repeats`` latencies of at least ``min_run_s`` each are taken.

    The builder does what TVM's LocalBuilder does, but keeps its workers from batch to batch and
    spares them TVM's tensor intrinsics, which take longer to load than a batch to build.

    Raises
    ------
    HardwareError
        No tracker answers, or it has no board under the key.
    """

    def __init__(self, backend: str, chip: Chip, repeats: int) -> None:
        self._address = address_of(backend)
        if gone := self.gone():
            raise HardwareError(gone)
        bench = chip.bench
        self._builder = PopenPoolExecutor(
            max_workers=bench.compile_workers,
            timeout=BUILD_TIMEOUT_S,
            maximum_process_uses=WORKER_BUILDS,
        )
        timing = EvaluatorConfig(
            number=1, repeat=repeats, min_repeat_ms=max(1, round(bench.min_run_s * 1000))
        )
        cores = getattr(chip, "cores", 1)
        self._runner = (
            _local(timing, bench.timeout_s, cores)
            if self._address is None
            else _remote(self._address, timing, bench.timeout_s)
        )

    def build(self, modules: Sequence[Any], target: Any) -> list[MapResult]:
        """For each module the path of its library, or the status and error of its build."""
        one = partial(build, target=target, suffix="so" if self._address is None else "tar")
        return list(self._builder.map_with_error_catching(one, modules))

    def run(self, job: RunnerInput) -> RunnerResult:
        """The latencies of one library, or why there are none; bounded by the time limits."""
        (future,) = self._runner.run([job])
        return future.result()

    def gone(self) -> str | None:
        """Why the hardware is not there, in one line; None where it is."""
        return None if self._address is None else missing(self._address)


def _local(timing: EvaluatorConfig, timeout_s: float, cores: int) -> Any:
    threads = partial(os.environ.__setitem__, "TVM_NUM_THREADS", str(cores))
    return LocalRunner(timeout_sec=timeout_s, evaluator_config=timing, initializer=threads)


def _remote(address: Address, timing: EvaluatorConfig, timeout_s: float) -> Any:
    config = RPCConfig(
        tracker_host=address.host,
        tracker_port=address.port,
        tracker_key=address.key,
        session_timeout_sec=max(1, round(timeout_s)),
    )
    runner = RPCRunner(rpc_config=config, evaluator_config=timing, max_workers=1)
    # TVM's pool waits for ever for a board that does not answer; this one ends its worker.
    runner.pool = PopenPoolExecutor(max_workers=1, timeout=timeout_s + 2 * CONNECT_S)
    return runner


def missing(address: Address) -> str | None:
    """Why a tracker has no board for us, in one line; None where it has one."""
    where = f"tracker {address.host}:{address.port}"
    try:
        socket.create_connection((address.host, address.port), CONNECT_S).close()
        tracker = rpc.connect_tracker(address.host, address.port)
        servers = tracker.summary()["server_info"]
    except (OSError, RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[-1] if str(error).strip() else "no answer"
        return f"{where}: does not answer ({reason})"
    if not any(server["key"] == f"server:{address.key}" for server in servers):
        known = sorted({str(s["key"]).removeprefix("server:") for s in servers})
        return f"{where}: has no board under key {address.key!r}; keys: {', '.join(known) or '-'}"
    return None
