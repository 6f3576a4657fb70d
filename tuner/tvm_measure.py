"""Every simulator as a measurement backend of TVM's own tuner: a builder and a runner.

.. code-block:: python

    from tvm.s_tir import meta_schedule as ms

    chip, workload = load_chip("ascend-910b1"), resolve("gemm:1024x1024x1024:float16")
    builder = SimBuilder(SimBackend(workload, chip, repeats=3, seed=0))
    ms.tune_tir(
        workload.prim_func(),
        target=spaces.target(chip),
        space=spaces.space_generator(workload, chip),
        work_dir="out",
        max_trials_global=64,
        builder=builder,
        runner=SimRunner(builder),
        measure_callbacks=[
            ms.measure_callback.AddToDatabase(),
            ms.measure_callback.UpdateCostModel(),
        ],
    )

``measure_callbacks`` has to be given: TVM's default list has one more, ``RemoveBuildArtifact``,
which removes the folder that an artifact lies in; artifacts here lie in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tvm_ffi
from tvm.ir.utils import derived_object
from tvm.s_tir import Schedule
from tvm.s_tir.meta_schedule.builder import BuilderResult, PyBuilder
from tvm.s_tir.meta_schedule.runner import PyRunner, PyRunnerFuture, RunnerResult

from hwsim.result import Failure
from traces import Measurement
from tuner.measure import Backend, Job
from tuner.problem import Handle, Lowered

Naming = Callable[[Sequence[Any]], Sequence[str]]  # BuilderInputs -> a name for each
PREFIX = "mem:"


def structural_names(build_inputs: Sequence[Any]) -> list[str]:
    """16 hex digits for each program: equal programs have equal names, and read equal latencies."""
    hashes = (tvm_ffi.structural_hash(given.mod) for given in build_inputs)
    return [f"{h & (2**64 - 1):016x}" for h in hashes]


@derived_object
class SimBuilder(PyBuilder):  # type: ignore[misc]
    """Simulates each program at once; a compile error is the builder's answer.

    ``names`` gives the programs the names that their noise is drawn by.  ``measured`` keeps the
    measurement of every name; an artifact's path is ``mem:`` and the name.
    """

    def __init__(self, backend: Backend, names: Naming = structural_names) -> None:
        super().__init__()
        self.backend, self.names = backend, names
        self.measured: dict[str, Measurement] = {}

    def build(self, build_inputs: Sequence[Any]) -> list[Any]:
        """One ``BuilderResult`` an input, in order; what goes wrong is its error message."""
        names = self.names(build_inputs)
        for name, given in zip(names, build_inputs, strict=True):
            self.measured[name] = _measured(self.backend, name, given.mod)
        return [_built(name, self.measured[name]) for name in names]


@derived_object
class SimRunner(PyRunner):  # type: ignore[misc]
    """Reads the latencies of what a :class:`SimBuilder` has built."""

    def __init__(self, builder: Any) -> None:
        super().__init__()
        self._measured: dict[str, Measurement] = builder.measured

    def run(self, runner_inputs: Sequence[Any]) -> list[Any]:
        """One finished ``RunnerFuture`` an input, in order."""
        return [_Done(self._result(str(given.artifact_path))) for given in runner_inputs]

    def _result(self, path: str) -> Any:
        measurement = self._measured.get(path.removeprefix(PREFIX))
        if measurement is None:
            return RunnerResult(None, f"launch_error: {path} was not built by this simulator")
        if measurement.failure is not None:
            return RunnerResult(None, measurement.error or measurement.failure)
        return RunnerResult([us * 1e-6 for us in measurement.latencies_us], None)


@derived_object
class _Done(PyRunnerFuture):  # type: ignore[misc]
    """A future whose result is there."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self._result = result

    def done(self) -> bool:
        return True

    def result(self) -> Any:
        return self._result


def _measured(backend: Backend, name: str, mod: Any) -> Measurement:
    """An exception would end TVM's whole tuning: whatever is raised becomes this one's failure."""
    try:
        return backend.measure([Job(name, Handle(lambda: Lowered(Schedule(mod))))])[0]
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        reason = f"{type(error).__name__}: {lines[-1]}"
        failure = Failure.compile_error.name
        return Measurement(latencies_us=[], failure=failure, error=f"{failure}: {reason}")


def _built(name: str, measurement: Measurement) -> Any:
    if measurement.failure == Failure.compile_error.name:
        return BuilderResult(None, measurement.error)
    return BuilderResult(PREFIX + name, None)
