"""A search strategy of TVM's, kept from starving and from measuring twice."""

from __future__ import annotations

from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir.meta_schedule.search_strategy import PySearchStrategy

from tuner.dropin.screen import Screen, before_postprocs
from tuner.dropin.verdicts import Line

REPEATS = 3  # batches of nothing but known candidates before the space counts as exhausted


@derived_object
class Watched(PySearchStrategy):  # type: ignore[misc]
    """``inner`` proposes; what was measured before is left out; the screen learns.

    TVM's evolutionary search ends without a word where too few candidates survive, and does not
    look into its database for what was measured already.
    """

    def __init__(self, inner: Any, screen: Screen) -> None:
        super().__init__()
        self._inner, self._screen = inner, screen
        self._mod: Any = None
        self._left = 0

    def _initialize_with_tune_context(self, context: Any) -> None:
        self._mod = context.mod
        self._inner._initialize_with_tune_context(context)

    def pre_tuning(
        self, max_trials: int, batch: int, designs: Any, database: Any, cost_model: Any
    ) -> None:
        """Start the inner strategy."""
        self._left = max_trials
        self._inner.pre_tuning(max_trials, batch, designs, database, cost_model)

    def post_tuning(self) -> None:
        """End the inner strategy."""
        self._inner.post_tuning()

    def generate_measure_candidates(self) -> Any:
        """A batch without anything that was measured before; None ends the task."""
        for _ in range(REPEATS):
            found = self._inner.generate_measure_candidates()
            if found is None and self._left > 0 and not self._screen.opened:
                self._screen.open("TVM's search found too few candidates")
                found = self._inner.generate_measure_candidates()
            if found is None:
                return None
            fresh = [c for c in found if not self._seen(c)]
            if fresh:
                return fresh
        return None

    def _seen(self, candidate: Any) -> bool:
        return before_postprocs(self._mod, candidate.sch.trace)[0] in self._screen.measured

    def notify_runner_results(self, candidates: Any, results: Any) -> None:
        """Tell the inner strategy and the screen; failures go into the log."""
        self._left -= len(results)
        self._inner.notify_runner_results(candidates, results)
        latency = [mean_us(result) for result in results]
        for candidate, result in zip(candidates, results, strict=True):
            if not result.run_secs:
                self._log_failure(candidate, result)
        self._screen.observe(self._mod, candidates, latency)

    def _log_failure(self, candidate: Any, result: Any) -> None:
        name = before_postprocs(self._mod, candidate.sch.trace)[0]
        lines = str(result.error_msg or "unknown").strip().splitlines()
        self._screen.failed, self._screen.error = self._screen.failed + 1, lines[-1]
        self._screen.log.write(Line(task=self._screen.task, subject=name, error=lines[-1]))

    def clone(self) -> Any:
        """A strategy around a clone, for the same screen."""
        return Watched(self._inner.clone(), self._screen)


def mean_us(result: Any) -> float:
    """Mean latency of a runner's result, microseconds; ``inf`` for a failure."""
    seconds = [float(s) for s in result.run_secs or ()]
    return 1e6 * sum(seconds) / len(seconds) if seconds else float("inf")
