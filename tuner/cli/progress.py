"""Progress bars of a benchmark: kept, pruned, failed, best, time left; plain where no terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.progress import TimeRemainingColumn as TimeLeft
from rich.table import Column

from tuner.bench.plan import Plan

Message = tuple[str, int, int, int, float, bool]  # run, measured, pruned, failed, best_us, finished
_STATES = ("kept", "pruned", "failed", "best")


class Bars:
    """One bar for the whole benchmark and one for each run in progress."""

    def __init__(self, plan: Plan) -> None:
        self._runs = len(plan.groups()) * len(plan.runs())
        self._trials, self._many = plan.trials, len(plan.strategies) > 1
        self._stopping = False
        self._done: dict[str, int] = {}
        self._finished: set[str] = set()
        self._tasks: dict[str, TaskID] = {}
        console = Console(stderr=True)
        name = TextColumn(
            "{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)
        )
        states = (
            TextColumn(f"{{task.fields[{s}]}}", markup=False, table_column=Column(no_wrap=True))
            for s in _STATES
        )
        self._progress = Progress(
            name,
            BarColumn(bar_width=12),
            *states,
            TimeLeft(compact=True),
            console=console,
            disable=not console.is_terminal,
            expand=True,
            transient=True,
        )
        self._all = self._progress.add_task("", total=self._runs * plan.trials, **_state())
        self._say_all()

    def update(self, message: Message) -> None:
        """One round of one run is over, or the run is."""
        run, measured, pruned, failed, best_us, finished = message
        if run not in self._tasks:
            self._tasks[run] = self._progress.add_task(
                self._label(run), total=self._trials, **_state()
            )
        best = f"best {best_us:.4g} us" if math.isfinite(best_us) else ""
        counts = (f"kept {measured}/{self._trials}", f"pruned {pruned}", f"failed {failed}", best)
        self._progress.update(
            self._tasks[run], completed=measured, visible=not finished, **_state(*counts)
        )
        if finished:
            self._finished.add(run)
        reached = self._trials if finished else measured  # a space may end before the budget does
        self._progress.advance(self._all, reached - self._done.get(run, 0))
        self._done[run] = reached
        self._say_all()

    def stopping(self) -> None:
        """The user wants to stop."""
        self._stopping = True
        self._say_all()

    def _say_all(self) -> None:
        text = f"{len(self._finished)} of {self._runs} runs finished"
        if self._stopping:
            text += ", stopping after the rounds in progress"
        elif len(self._finished) == self._runs:
            text += ", computing measures"
        self._progress.update(self._all, description=text)

    def _label(self, run: str) -> str:
        """A run's name without what all runs have in common."""
        chip, workload, arm, strategy, *model, seed = run.split("__")
        searched = (strategy,) if self._many else ()
        return " ".join((chip, workload, arm, *searched, *model, seed.removeprefix("seed")))

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


def _state(*texts: str) -> dict[str, Any]:
    return dict(zip(_STATES, texts or ("",) * len(_STATES), strict=True))


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar of so many things to do; the callback says how many more are done."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=40),
        MofNCompleteColumn(),
        TimeLeft(compact=True),
    )
    with Progress(
        *columns, console=console, disable=not console.is_terminal, transient=True
    ) as progress:
        task = progress.add_task(what, total=total)
        yield lambda n: progress.advance(task, n)
