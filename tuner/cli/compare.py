"""``prunelab compare``: two runs or two benchmarks side by side."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.errors import REGRESSION
from tuner.cli.options import Format, FormatOption, print_json, printable

if TYPE_CHECKING:
    from tuner.bench.compare import Comparison, Row


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


def compare(
    a: Annotated[Path, typer.Argument(help="a log, a folder or a results.json")],
    b: Annotated[Path, typer.Argument(help="what is compared with it, of the same kind")],
    bound: Annotated[
        float, typer.Option(min=0, help="how much worse B may be: relative, shares in points")
    ] = 0.01,
    fmt: FormatOption = Format.table,
) -> int:
    """Compare two runs, or two benchmarks: best, regret, convergence, pruned, rule by rule.

    Exit code 1 where B is worse than A by more than the bound: in the best, in regrets and false
    prunes, or in convergence. What only one side has is named and decides nothing.
    """
    from tuner.bench.compare import compare as hold

    found = hold(a, b, bound)
    if fmt is Format.json:
        print_json({"regressed": found.regressed, **asdict(found)})
    else:
        _show(found)
    return REGRESSION if found.regressed else 0


def _show(found: Comparison) -> None:
    from tuner.cli.tables import show

    for d in found.differences:
        typer.echo(printable(f"{d.name}: A {d.base!r}, B {d.new!r}"))
    for section in found.sections:
        rows = [(r.what, *_cells(r), "WORSE" if r.regression else "") for r in section.rows]
        rows += [(f"pruned by {r.what}", *_cells(r), "") for r in section.rules]
        show(("", "A", "B", "B - A", ""), rows, title=section.title, numbers=True)
    for side, names in (("A", found.only_a), ("B", found.only_b)):
        for name in names:
            typer.echo(printable(f"only in {side}, not compared: {name}"))
    typer.echo(_outcome(found))


def _outcome(found: Comparison) -> str:
    """The verdict, and how much of what there is it is about."""
    worse = sum(row.regression for section in found.sections for row in section.rows)
    outcome = f"B is worse in {worse} measures" if worse else "no regression"
    alone = len(found.only_a) + len(found.only_b)
    if alone:
        compared = len(found.sections)
        outcome += f" in what was compared, {compared} of {compared + alone} cells"
    return f"{outcome} (bound {found.bound:g})"


def _cells(row: Row) -> tuple[str, str, str]:
    difference = row.b - row.a if row.a is not None and row.b is not None else None
    return _number(row.a), _number(row.b), "" if not difference else f"{difference:+.6g}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
