"""Several searches under TVM's own task scheduler, which decides whose turn it is.

``GradientBased`` gives each task one round, then always the one whose weighted latency promises to
fall most.  A turn is one round of prunelab's loop, with its pruning and its measurements; what TVM
sees of it are the latencies.  TVM's builder and runner have nothing to do, and a stand-in schedule
takes the place of each measured one, so that nothing is replayed for the scheduler's sake.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule.builder import BuilderResult, PyBuilder
from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate, PySearchStrategy
from tvm.target import Target
from tvm_ffi import register_error

from traces import Measurement
from tuner.spaces.fast_script import load_tvm_intrinsics
from tuner.tvm_measure import PREFIX, SimRunner

Turn = Callable[[], list[Measurement]]  # one round; empty: the task is over


@register_error
class _TurnFailed(RuntimeError):
    """Carries an exception out of TVM's scheduler; the cause is kept aside."""


def schedule(
    programs: Sequence[Any], weights: Sequence[int], turns: Sequence[Turn], trials: int, seed: int
) -> None:
    """Give turns until ``trials`` measurements are made or all tasks are over.

    ``programs`` are the tasks' unscheduled modules; what a turn raises is raised here.
    """
    load_tvm_intrinsics()  # the first TuneContext would, ten times slower
    built = _Built()
    raised: list[BaseException] = []
    tasks = [
        ms.TuneContext(
            mod,
            target=Target({"kind": "llvm", "num-cores": 1}),  # unused, but TVM wants one
            space_generator=ms.space_generator.ScheduleFn(
                lambda sch: [sch], sch_rules=[], postprocs=[], mutator_probs={}
            ),
            search_strategy=_Turns(turn, built, Schedule(mod), raised),
            task_name=f"task {i}",
            rand_state=1,
            num_threads=1,
        )
        for i, (mod, turn) in enumerate(zip(programs, turns, strict=True))
    ]
    try:
        ms.task_scheduler.GradientBased(seed=1 + seed % (2**31 - 1)).tune(
            tasks=tasks,
            task_weights=[float(w) for w in weights],
            max_trials_global=trials,
            max_trials_per_task=trials,
            num_trials_per_iter=1,  # a turn decides for itself how much it measures
            builder=built,
            runner=SimRunner(built),
            measure_callbacks=[],
            database=None,
            cost_model=None,
        )
    except _TurnFailed:
        raise raised[0] from None


@derived_object
class _Turns(PySearchStrategy):  # type: ignore[misc]
    """A search strategy whose candidates have been measured when it hands them out."""

    def __init__(self, turn: Turn, built: Any, stand_in: Any, raised: list[BaseException]) -> None:
        super().__init__()
        self._turn, self._built, self._raised = turn, built, raised
        info = ms.arg_info.ArgInfo.from_prim_func(stand_in.mod["main"])
        self._stand_in = MeasureCandidate(stand_in, info)

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Nothing to set up."""

    def pre_tuning(self, *_: Any) -> None:
        """Nothing to set up."""

    def post_tuning(self) -> None:
        """Nothing to tear down."""

    def generate_measure_candidates(self) -> Any:
        """One turn; None ends the task."""
        try:
            batch = self._turn()
        except BaseException as error:
            self._raised.append(error)
            raise _TurnFailed(str(error)) from None
        self._built.measured.clear()  # the runner holds the same dictionary
        self._built.measured.update({str(i): m for i, m in enumerate(batch)})
        return [self._stand_in] * len(batch) if batch else None

    def notify_runner_results(self, *_: Any) -> None:
        """The loop has learnt from its measurements already."""

    def clone(self) -> Any:
        """Strategies are used where they were made."""
        return self


@derived_object
class _Built(PyBuilder):  # type: ignore[misc]
    """Names the last turn's measurements by their position."""

    def __init__(self) -> None:
        super().__init__()
        self.measured: dict[str, Measurement] = {}

    def build(self, build_inputs: Sequence[Any]) -> list[Any]:
        """One ``BuilderResult`` an input, in order."""
        return [BuilderResult(f"{PREFIX}{i}", None) for i in range(len(build_inputs))]
