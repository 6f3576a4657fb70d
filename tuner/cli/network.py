"""``prunelab tune --network``: the tasks of a network tuned together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tuner.cli.errors import UsageError
from tuner.cli.options import Format, interrupted, print_json, printable
from tuner.cli.tables import show

if TYPE_CHECKING:
    from tuner.bench.plan import Plan
    from tuner.networks.tuning import NetworkPlan, TaskRun

_COLUMNS = (
    ("default us", "default_us", "{:.4g}"),
    ("tuned us", "tuned_us", "{:.4g}"),
    ("speed-up", "speedup", "{:.2f}x"),
    ("attainable us", "attainable_us", "{:.4g}"),
    ("share", "attainable_share", "{:.1%}"),
    ("launch", "launch_share", "{:.1%}"),
    ("measured", "measured", "{}"),
    ("pruned", "pruned", "{}"),
)


def run_network(given: str, common: Plan, out: Path, resume: bool, fmt: Format) -> int:
    """Tune the network that ``given`` names; ``common`` is its plan without the workloads."""
    from tuner.networks import resolve_network

    network = resolve_network(given)  # before what imports TVM: a typing mistake should not wait
    from msgspec.structs import asdict

    from tuner.bench.folder import check_folder, claim_folder
    from tuner.cli.bench import check_plan
    from tuner.interrupt import Interrupt
    from tuner.networks.results import write_network
    from tuner.networks.tuning import NetworkPlan, prepare, round_size, tune_network

    names = tuple(task.workload.spec for task in network.tasks)
    batch = min(common.batch, round_size(common.trials, len(names)))
    own = {**asdict(common), "workloads": names, "batch": batch}
    plan = NetworkPlan(**own, network=network.name)
    check_plan(plan)
    check_folder(out, plan, resume)
    with _Line(len(names), plan.trials) as line:
        tasks, untuned = prepare(network, plan.chip(plan.chips[0]), line.prepared)
        claim_folder(out, plan, resume)
        with Interrupt() as interrupt:
            runs = tune_network(
                tasks, plan, out, resume=resume, progress=line.tuned, stopped=interrupt
            )
        if interrupt():
            raise interrupted(out)
    _remember(plan, runs)
    content = write_network(out, plan, network, runs, untuned)
    if fmt is Format.json:
        print_json(content)
    else:
        _show(content, out)
    if not content["total"]["tasks"]:
        raise UsageError(f"no task of {network.name} has a schedule that runs; see {out}")
    return 0


class _Line:
    """One progress bar: first the design spaces, then the measurements."""

    def __init__(self, tasks: int, trials: int) -> None:
        from rich.console import Console
        from rich.progress import Progress

        console = Console(stderr=True)
        self._bars = Progress(console=console, disable=not console.is_terminal, transient=True)
        self._spaces = self._bars.add_task("design spaces", total=tasks)
        self._trials = self._bars.add_task("measurements", total=trials)

    def prepared(self, done: int) -> None:
        self._bars.update(self._spaces, completed=done)

    def tuned(self, runs: list[TaskRun]) -> None:
        self._bars.update(self._trials, completed=sum(r.loop.tally.measured for r in runs))

    def __enter__(self) -> _Line:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()


def _remember(plan: NetworkPlan, runs: list[TaskRun]) -> None:
    """What the tasks measured is left to later runs, now that none of them can see it."""
    if not plan.store:
        return
    from traces.store import Store
    from tuner.feedback import remember

    for run in runs:
        remember(Store(plan.store), run.prepared.problem, run.log)


def _show(content: dict[str, Any], out: Path) -> None:
    title = f"{content['header']['network']}  {content['header']['chips'][0]}"
    rows = [(r["workload"], r["weight"], *_cells(r)) for r in content["tasks"]]
    whole = content["total"]
    rows.append(("sum", "", *_cells(whole)))
    show(("task", "weight", *(name for name, _, _ in _COLUMNS)), rows, title, numbers=True)
    if whole["left_out"]:
        typer.echo(f"note: {whole['left_out']} tasks without a latency are not in the sum")
    for u in content["untuned"]:
        typer.echo(printable(f"not tuned: {u['count']} x {u['name']}: {u['reason']}"))
    typer.echo(f"results: {out / 'network.json'}")


def _cells(row: dict[str, Any]) -> list[str]:
    values: list[tuple[Any, Callable[[Any], str]]] = [(row[k], f.format) for _, k, f in _COLUMNS]
    return ["-" if value is None else text(value) for value, text in values]
