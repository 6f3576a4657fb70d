"""The arm ``tvm``: TVM's own evolutionary search and XGBoost cost model, as the outside baseline.

Nothing of the search is changed: TVM's task scheduler, ``EvolutionarySearch`` with its defaults and
``XGBModel`` work on the same design space, measured by the same simulated chip.  Only what TVM
measures is visible from outside, so only that is logged and charged to the virtual clock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tvm.ir.utils import derived_object
from tvm.s_tir import Schedule, Trace
from tvm.s_tir import meta_schedule as ms
from tvm_ffi import register_error

from tuner import spaces
from tuner.decisions import IntColumn
from tuner.journal import Journal, Tally
from tuner.loop import Budget
from tuner.measure import Backend, Recalled
from tuner.problem import Problem
from tuner.tvm_measure import SimBuilder, SimRunner

Found = tuple[str, int, IntColumn]  # candidate, sketch, decision vector


@register_error
class _Stopped(RuntimeError):
    """Raised inside TVM's tuning to end it between rounds."""


@dataclass
class TvmSearch:
    """One run of TVM's search; the same interface as :class:`tuner.loop.Loop`."""

    problem: Problem
    backend: Backend
    journal: Journal
    budget: Budget
    seed: int
    stopped: Callable[[], bool] = lambda: False
    strategy: Callable[[], Any] = ms.search_strategy.EvolutionarySearch
    _batch: list[Found] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._sketches = {_body(s.trace): s for s in self.problem.sketches}
        self._scheduler = ms.task_scheduler.GradientBased(seed=tvm_state(self.seed))
        known = self.journal.log.known
        self._builder = SimBuilder(Recalled(self.backend, known), self._names)
        self._said: list[str] = []

    def run(self) -> Tally:
        """Go on until the budget is spent, TVM's search gives up or the run is stopped."""
        if self.stopped():
            return self.journal.tally
        try:
            with numpy_seeded(self.seed):
                self._tune()
        except _Stopped:
            self.journal.log.flush()
            return self.journal.tally
        self._end()
        return self.journal.tally

    def _tune(self) -> None:
        trials = self.budget.trials
        self._scheduler.tune(
            tasks=[self._context()],
            task_weights=[1.0],
            max_trials_global=trials,
            max_trials_per_task=trials,
            num_trials_per_iter=self.budget.batch,
            builder=self._builder,
            runner=SimRunner(self._builder),
            measure_callbacks=[
                _AfterRound(self._after_round),
                ms.measure_callback.AddToDatabase(),
                ms.measure_callback.UpdateCostModel(),
            ],
            database=ms.database.MemoryDatabase(),
            cost_model=ms.cost_model.XGBModel(num_tuning_cores=1),
        )

    def _context(self) -> Any:
        workload, chip = self.problem.workload, self.problem.chip
        return ms.TuneContext(
            Schedule(workload.prim_func()).mod,
            target=spaces.target(chip),
            space_generator=spaces.space_generator(workload, chip),
            search_strategy=self.strategy(),
            rand_state=tvm_state(self.seed),
            num_threads=1,  # TVM is deterministic with one thread only
            logger=_listener(self._said),
        )

    def _names(self, build_inputs: Sequence[Any]) -> list[str]:
        """Builder inputs carry no schedule: the scheduler's candidates, in the same order, do."""
        candidates = self._scheduler.tasks_[0].measure_candidates
        self._batch = [self._locate(c.sch.trace) for c in candidates]
        return [candidate for candidate, _, _ in self._batch]

    def _locate(self, trace: Any) -> Found:
        body = _body(trace)
        if body not in self._sketches:
            raise RuntimeError(f"TVM measured a schedule that is none of the sketches:\n{body}")
        sketch = self._sketches[body]
        row = sketch.row_of(trace)
        return sketch.hash(row), sketch.index, row

    def _after_round(self) -> None:
        measured = [self._builder.measured[candidate] for candidate, _, _ in self._batch]
        self.journal.charge(measured)
        for (candidate, sketch, row), measurement in zip(self._batch, measured, strict=True):
            self.journal.trial(candidate, sketch, row, measurement=measurement)
        self.journal.close_round()
        if self.journal.tally.measured < self.budget.trials and self.stopped():
            raise _Stopped

    def _end(self) -> None:
        measured, trials = self.journal.tally.measured, self.budget.trials
        if measured >= trials:
            self.journal.end("budget")
            return
        said = f" ({self._said[-1]})" if self._said else ""
        reason = f"TVM's search gave up after {measured} of {trials} measurements{said}"
        if not measured:
            reason = f"starved: {reason}"
        self.journal.note(reason)
        self.journal.end(reason)


@derived_object
class _AfterRound(ms.measure_callback.PyMeasureCallback):  # type: ignore[misc]
    """Tells the search that a batch has been measured."""

    def __init__(self, after_round: Callable[[], None]) -> None:
        super().__init__()
        self._after_round = after_round

    def apply(self, *_: Any) -> None:
        self._after_round()


def _body(trace: Any) -> str:
    """What tells sketches apart: the instructions before the postprocessors, without decisions."""
    instructions = list(trace.insts)
    kinds = [i.kind.name for i in instructions]
    end = kinds.index("EnterPostproc") if "EnterPostproc" in kinds else len(kinds)
    return str(Trace(instructions[:end], {}))


def tvm_state(seed: int) -> int:
    """TVM's random states lie in 1 .. 2^31 - 1."""
    return 1 + seed % (2**31 - 1)


@contextmanager
def numpy_seeded(seed: int) -> Iterator[None]:
    """XGBModel draws its predictions from numpy's global state until it has 100 samples."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def _listener(said: list[str]) -> logging.Logger:
    """A logger that keeps TVM's warnings, the only place where it says why it gave up."""
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage().split("] ", 1)[-1])  # type: ignore[method-assign]
    logger = logging.Logger("prunelab.tvm", logging.WARNING)
    logger.addHandler(handler)
    return logger
