"""Progress bars of a benchmark: kept, pruned, failed, best, time left; plain where no terminal."""

from __future__ import annotations

import math
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.progress import TimeRemainingColumn as TimeLeft

from tuner.bench.plan import Plan


class Bars:
    """One bar for the whole benchmark and one for each run in progress."""

    def __init__(self, plan: Plan) -> None:
        runs = len(plan.groups()) * len(plan.runs())
        self._trials = plan.trials
        self._done: dict[str, int] = {}
        self._tasks: dict[str, TaskID] = {}
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeLeft(),
            TextColumn("{task.fields[state]}", markup=False),
            console=Console(stderr=True),
            disable=not Console(stderr=True).is_terminal,
        )
        self._all = self._progress.add_task("measured", total=runs * plan.trials, state="")

    def update(self, message: tuple[str, int, int, int, float]) -> None:
        """One round of one run is over."""
        run, measured, pruned, failed, best_us = message
        if run not in self._tasks:
            self._tasks[run] = self._progress.add_task(run, total=self._trials, state="")
        best = f"{best_us:.4g} us" if math.isfinite(best_us) else "none yet"
        state = f"kept {measured} pruned {pruned} failed {failed} best {best}"
        finished = measured >= self._trials
        self._progress.update(
            self._tasks[run], completed=measured, state=state, visible=not finished
        )
        self._progress.advance(self._all, measured - self._done.get(run, 0))
        self._done[run] = measured

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()
