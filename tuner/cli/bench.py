"""``prunelab bench``: arms x chips x workloads x strategies x seeds, a table and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.bench.plan import DEFAULT_ARMS, DEFAULT_CHIPS, DEFAULT_WORKLOADS, Plan
from tuner.cli.errors import UsageError
from tuner.cli.options import (
    Format,
    FormatOption,
    OutOption,
    ResumeOption,
    SeedOption,
    positive,
    print_json,
)

if TYPE_CHECKING:
    from tuner.bench.group import GroupResult


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench")(bench)


def bench(
    chip: Annotated[list[str], typer.Option(help="name or TOML file")] = list(DEFAULT_CHIPS),
    workload: Annotated[list[str], typer.Option(help="spec, catalogue name or .py file")] = list(
        DEFAULT_WORKLOADS
    ),
    arms: Annotated[str, typer.Option(help="comma-separated")] = ",".join(DEFAULT_ARMS),
    strategy: Annotated[list[str], typer.Option(help="search strategy")] = ["evolutionary"],
    seeds: Annotated[int, typer.Option(help="how many seeds, from --seed on")] = 3,
    seed: SeedOption = 0,
    trials: Annotated[int, typer.Option(help="measurements of a run")] = 200,
    repeats: Annotated[int, typer.Option(help="latencies of a measurement")] = 3,
    batch: Annotated[int, typer.Option(help="measurements of a round")] = 16,
    rules: Annotated[str, typer.Option(help="rule set: default or as-described")] = "default",
    rule_file: Annotated[list[Path], typer.Option(help=".py file with more rules")] = [],
    out: OutOption = Path("out/bench"),
    resume: ResumeOption = False,
    fmt: FormatOption = Format.table,
) -> int:
    """Compare pruning arms on simulated chips."""
    plan = Plan(
        chips=tuple(dict.fromkeys(chip)),
        workloads=tuple(dict.fromkeys(workload)),
        arms=_arms(arms),
        strategies=_strategies(strategy),
        seeds=positive("seeds", seeds),
        seed=seed,
        trials=positive("trials", trials),
        repeats=positive("repeats", repeats),
        batch=positive("batch", batch),
        rules=rules,
        rule_files=tuple(str(p) for p in rule_file),
    )
    check_plan(plan)
    return _run(plan, out, resume, fmt)


def _arms(text: str) -> tuple[str, ...]:
    from tuner.arms import arms_named

    return tuple(arm.name for arm in arms_named(text))


def _strategies(names: list[str]) -> tuple[str, ...]:
    from tuner.search import STRATEGIES

    for name in names:
        if name not in STRATEGIES:
            raise UsageError(f"strategy {name!r}: expected one of {', '.join(STRATEGIES)}")
    return tuple(dict.fromkeys(names))


def check_plan(plan: Plan) -> None:
    """Everything that a user can have got wrong is found before anything runs."""
    from hwsim.chips import load_chip
    from pruner.rulesets import rule_set
    from tuner.arms import arms_named
    from tuner.workloads import resolve

    arms_named(",".join(plan.arms))
    names: dict[str, str] = {}
    for given in plan.chips:
        name = load_chip(given).name
        if name in names:
            raise UsageError(f"chip {given}: has the same name as {names[name]}, {name}")
        names[name] = given
    for given in plan.workloads:
        resolve(given)
    rule_set(plan.rules, plan.rule_files)


def _run(plan: Plan, out: Path, resume: bool, fmt: Format) -> int:
    from tuner.bench.folder import claim_folder
    from tuner.bench.pool import run_groups
    from tuner.bench.results import write_results
    from tuner.cli.progress import Bars

    claim_folder(out, plan, resume)
    with Bars(plan) as bars:
        try:
            found = run_groups(plan, out, resume, bars.update)
        except KeyboardInterrupt:
            found = []
    groups = [g for g in found if g is not None and g.complete]
    if len(groups) < len(plan.groups()):
        typer.echo(f"interrupted: what was measured is kept; go on with --out {out} --resume")
        return 130
    results = write_results(out, plan, groups)
    _show(results, groups, out, fmt)
    return 0


def _show(results: dict[str, object], groups: list[GroupResult], out: Path, fmt: Format) -> None:
    from tuner.bench.show import show_cells
    from tuner.report import write_report

    report = write_report(out, results, [c for g in groups for c in g.curves])
    if fmt is Format.json:
        print_json(results)
        return
    show_cells(results["cells"])
    for group in groups:
        for cell in group.cells:
            for note in cell["notes"]:
                typer.echo(f"note: {cell['chip']} {cell['workload']} {cell['arm']}: {note}")
    typer.echo(f"report: {report}")
