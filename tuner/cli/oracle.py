"""``prunelab oracle``: measure spaces whole, or list those that can be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.cli.errors import Interrupted, UsageError
from tuner.cli.options import Format, FormatOption, print_json

if TYPE_CHECKING:
    from tuner.oracle import Recipe
    from tuner.problem import Problem


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("oracle")(oracle)


def oracle(
    space: Annotated[list[str], typer.Option(help="name of the catalogue, or all")] = [],
    chip: Annotated[str | None, typer.Option(help="name or TOML file")] = None,
    workload: Annotated[str | None, typer.Option(help="spec, catalogue name or .py file")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="folder of oracles", show_default="$PRUNELAB_ORACLES or the user's cache"
        ),
    ] = None,
    fmt: FormatOption = Format.table,
) -> int:
    """Measure every candidate of a space, and say where its optimum is.

    Without arguments: the spaces of the catalogue.  What is measured is kept as Parquet in --out,
    where every other command looks for it; an interrupted one goes on where it stopped.
    """
    from tuner.oracle.folders import default_folder

    folder = default_folder() if out is None else out
    if not space and chip is None and workload is None:
        _list(folder, fmt)
        return 0
    if (chip is None) != (workload is None) or (space and chip):
        raise UsageError("expected --space NAME, or --chip with --workload")
    wanted: list[Recipe | None] = list(_recipes(space)) or [None]
    try:
        rows = [_measure(_problem(r, chip, workload), folder, r) for r in wanted]
    except KeyboardInterrupt:
        raise Interrupted("what was measured is kept; the same command goes on") from None
    _show(rows, fmt)
    return 0


def _list(folder: Path, fmt: Format) -> None:
    from tuner.oracle import catalogue
    from tuner.oracle.folders import state_of

    rows = [
        {"space": r.name, "chip": r.chip, "workload": r.workload, "candidates": r.candidates,
         "state": state_of(r.name, folder), "why": r.why}
        for r in catalogue().values()
    ]  # fmt: skip
    if fmt is Format.json:
        print_json(rows)
        return
    from tuner.cli.tables import show

    show(tuple(rows[0]), [list(r.values()) for r in rows])


def _recipes(names: list[str]) -> list[Recipe]:
    from tuner.oracle import catalogue, recipe_named

    if "all" in names:
        return list(catalogue().values())
    return [recipe_named(name) for name in dict.fromkeys(names)]


def _problem(recipe: Recipe | None, chip: str | None, workload: str | None) -> Problem:
    from hwsim.chips import load_chip
    from tuner.oracle import problem_of
    from tuner.problem import Problem
    from tuner.workloads import resolve

    if recipe is not None:
        return problem_of(recipe)
    assert chip is not None
    assert workload is not None
    return Problem.of(resolve(workload), load_chip(chip))


def _measure(problem: Problem, folder: Path, recipe: Recipe | None) -> dict[str, Any]:
    from tuner.cli.progress import counting
    from tuner.oracle import OracleError, load, measure
    from tuner.oracle.summary import summary

    problem.check_readable()
    if recipe is not None and recipe.candidates != problem.size:
        raise OracleError(
            f"space {recipe.name}: has {problem.size} candidates, its recipe says"
            f" {recipe.candidates}"
        )
    with counting(problem.label, problem.size) as tell:
        path = measure(problem, folder, tell)
    return {**summary(load(problem, folder)), "file": str(path)}


def _show(rows: list[dict[str, Any]], fmt: Format) -> None:
    if fmt is Format.json:
        print_json(rows)
        return
    for row in rows:
        best = "  ".join(f"{name}={value}" for name, value in row["best_decisions"].items())
        optimum = "nothing runs" if row["optimum_us"] is None else f"{row['optimum_us']} us"
        typer.echo(f"{row['space']}  {row['chip']}  {row['workload']}")
        typer.echo(
            f"  {row['candidates']:,} candidates, {row['valid_share']:.1%} valid,"
            f" {row['rejected_share']:.1%} rejected by TVM's verifier"
        )
        typer.echo(
            f"  optimum {optimum}; {row['within_1_percent']:,} within 1 %,"
            f" {row['within_5_percent']:,} within 5 %"
        )
        typer.echo(f"  sketch {row['best_sketch']}: {best}")
        typer.echo(f"  {row['file']}")
