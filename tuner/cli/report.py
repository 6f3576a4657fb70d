"""``prunelab report``: one HTML file from a folder of bench or tune, or from logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.options import printable


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    folder: Annotated[
        Path, typer.Argument(help="folder of bench or tune, or of logs", metavar="DIR")
    ],
    fidelity: Annotated[
        Path | None, typer.Option(help="output of `fidelity --format json`, to be shown as well")
    ] = None,
) -> None:
    """Write DIR/report.html: how schedules are generated, how the search moved, what was pruned.

    It works offline.  In a benchmark's folder it takes the place of the shorter report that bench
    wrote; the convergence is then as measured.
    """
    from tuner.report.folder import report_folder

    path, missing = report_folder(folder, fidelity)
    for line in missing:
        typer.echo(printable(f"note: {line}"))
    typer.echo(f"report: {path}")
