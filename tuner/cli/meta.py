"""``prunelab meta``: pre-train the prior on many tasks, and say how far it carries over."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.cli.errors import UsageError
from tuner.cli.options import (
    Format,
    FormatOption,
    OutOption,
    SeedOption,
    TrialsOption,
    positive,
    print_json,
)

if TYPE_CHECKING:
    from tuner.meta.cold_start import FirstGood
    from tuner.meta.history import Task
    from tuner.meta.tasks import Pair
    from tuner.meta.transfer import Transfer

ModelOption = Annotated[
    Path | None, typer.Option("--meta", help="model file; without it the one that ships")
]
ChipsOption = Annotated[list[str], typer.Option("--chip", help="name or TOML file, repeatable")]
WorkloadsOption = Annotated[list[str], typer.Option("--workload", help="repeatable")]

meta = typer.Typer(help="Meta-learning: a graph network that prunes before the gate has data.")


def register(app: typer.Typer) -> None:
    """Add the command and its subcommands."""
    app.add_typer(meta, name="meta")


@meta.command("pretrain")
def pretrain(
    out: Annotated[Path, typer.Option(help="model file to write")] = Path("out/prior.npz"),
    chip: ChipsOption = [],
    workload: WorkloadsOption = [],
    steps: Annotated[int, typer.Option(help="steps of the optimiser")] = 500,
    seed: SeedOption = 0,
) -> int:
    """Train a model on every workload on every chip; by default the 56 tasks of the shipped one."""
    if find_spec("torch") is None or find_spec("torch_geometric") is None:
        raise UsageError("pre-training needs the extra meta: pip install 'prunelab[meta]'")
    from tuner.meta.pretrain import pretrain as train
    from tuner.meta.tasks import training

    tasks = _history(_pairs(workload, chip, training()), seed)
    if not tasks:
        raise UsageError("none of the tasks has a candidate that works")
    out.parent.mkdir(parents=True, exist_ok=True)
    command = _command(chip, workload, positive("steps", steps), seed)
    model = train(tasks, seed, command, steps=steps, told=_told)
    model.save(out)
    typer.echo(
        f"{out}: model {model.hash}, {len(tasks)} tasks, {model.header.candidates} candidates"
    )
    return 0


@meta.command("evaluate")
def evaluate(
    model: ModelOption = None,
    chip: ChipsOption = [],
    workload: WorkloadsOption = [],
    baseline: Annotated[
        bool, typer.Option(help="teach a LightGBM gate on the model's own tasks, beside it")
    ] = False,
    seed: SeedOption = 0,
    fmt: FormatOption = Format.table,
) -> int:
    """AUC for "more than 10 % slower than the best", by default on 20 tasks that were held out."""
    from pruner.meta.model import load, shipped
    from tuner.meta.tasks import held_out
    from tuner.meta.transfer import transfer

    found = load(model) if model else shipped()
    pairs = _unseen(_pairs(workload, chip, held_out()), found.header.tasks)
    known = _history([_pair(task) for task in found.header.tasks], seed) if baseline else []
    rows = transfer(found, known, _history(pairs, seed))
    _show_transfer(rows, fmt)
    return 0


@meta.command("first-good")
def first_good(
    model: ModelOption = None,
    chip: ChipsOption = [],
    workload: WorkloadsOption = [],
    trials: TrialsOption = 128,
    seeds: Annotated[int, typer.Option(min=1, help="seeds of each arm")] = 3,
    seed: SeedOption = 0,
    out: OutOption = Path("out/meta"),
    fmt: FormatOption = Format.table,
) -> int:
    """Time to the first schedule within 10 % of the best: prior, cold gate, no pruning."""
    from pruner.meta.model import SHIPPED, load
    from tuner.meta.cold_start import first_good as run
    from tuner.meta.tasks import held_out

    path = model or SHIPPED
    found = load(path)
    pairs = _unseen(_pairs(workload, chip, held_out()), found.header.tasks)
    wanted, folder = range(seed, seed + seeds), out / found.hash  # what another model did is kept
    rows = [run(w, c, path, wanted, positive("trials", trials), folder) for w, c in pairs]
    _show_first_good(rows, fmt)
    return 0


def _pairs(workloads: list[str], chips: list[str], default: list[Pair]) -> list[Pair]:
    """Every given workload on every given chip; what is not given is as in ``default``."""
    names = workloads or list(dict.fromkeys(w for w, _ in default))
    return [(w, c) for w in names for c in chips or dict.fromkeys(c for _, c in default)]


def _pair(task: str) -> Pair:
    workload, _, chip = task.partition(" @ ")
    return workload, chip


def _unseen(pairs: list[Pair], trained: list[str]) -> list[Pair]:
    """Say which tasks the model has been trained on: they prove nothing."""
    for workload, chip in pairs:
        if f"{workload} @ {chip}" in trained:
            typer.echo(f"note: the model was trained on {workload} @ {chip}", err=True)
    return pairs


def _history(pairs: list[Pair], seed: int) -> list[Task]:
    from tuner.meta.history import task

    tasks = []
    for i, (workload, chip) in enumerate(pairs):
        typer.echo(f"task {i + 1} of {len(pairs)}: {workload} @ {chip}", err=True)
        tasks.append(task(workload, chip, seed))
    return [task for task in tasks if task is not None]


def _command(chips: list[str], workloads: list[str], steps: int, seed: int) -> str:
    given = [f"--chip {c}" for c in chips] + [f"--workload {w}" for w in workloads]
    return " ".join(["prunelab meta pretrain", *given, f"--steps {steps} --seed {seed}"])


def _told(step: int, loss: float) -> None:
    if step % 50 == 0:
        typer.echo(f"step {step}: loss {loss:.4f}", err=True)


def _show_transfer(rows: list[Transfer], fmt: Format) -> None:
    from dataclasses import asdict

    from tuner.cli.tables import show

    if fmt is Format.json:
        print_json({"tasks": [asdict(row) for row in rows], "median_auc": _medians(rows)})
        return
    names = list(rows[0].auc) if rows else []
    lines = [(r.task, f"{r.positives:.3f}", *(f"{r.auc[n]:.3f}" for n in names)) for r in rows]
    medians = _medians(rows)
    lines.append(("median", "", *(f"{medians[n]:.3f}" for n in names)))
    show(("task", "within 10 %", *names), lines, title="AUC, more than 10 % slower than the best")


def _medians(rows: list[Transfer]) -> dict[str, Any]:
    names = rows[0].auc if rows else ()
    return {n: median([v for r in rows if (v := r.auc[n]) == v] or [float("nan")]) for n in names}


def _show_first_good(rows: list[FirstGood], fmt: Format) -> None:
    from dataclasses import asdict

    from tuner.cli.tables import show

    if fmt is Format.json:
        print_json({"tasks": [asdict(row) for row in rows]})
        return
    arms = list(rows[0].virtual_s) if rows else []
    lines = [
        (r.task, *(f"{r.virtual_s[a]:.0f} s, {r.trials[a]:g}, {r.found[a]:.0%}" for a in arms))
        for r in rows
    ]
    show(("task", *arms), lines, title="virtual time, measurements, share of seeds that get there")
