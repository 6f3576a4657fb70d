"""``prunelab explain``: the chain of verdicts of one candidate, with numbers and units."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.options import Format, FormatOption

if TYPE_CHECKING:
    from tuner.explained import Explained


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    log: Annotated[Path, typer.Argument(help="a run's log, runs/*.jsonl")],
    candidate: Annotated[str, typer.Argument(help="hash (or its beginning), or a trial's number")],
    chip: Annotated[str | None, typer.Option(help="the chip's file, where it has moved")] = None,
    fmt: FormatOption = Format.table,
) -> None:
    """Say why a candidate was pruned or kept: every rule with its numbers."""
    from pruner.verdict import to_json
    from tuner.explained import explain as find

    found = find(log, candidate, chip)
    typer.echo(to_json(found.explanation) if fmt is Format.json else _text(found))


def _text(found: Explained) -> str:
    from pruner.explain import to_text

    decisions = "  ".join(f"{name}={value}" for name, value in found.decisions.items())
    lines = [f"trial {found.trial.index}, sketch {found.trial.sketch}: {decisions}"]
    lines.append(to_text(found.explanation))
    measured = found.trial.measurement
    if measured is not None and measured.failure is None:
        lines.append(f"measured: {measured.mean_us:.6g} us, bottleneck {measured.bottleneck}")
    elif measured is not None:
        lines.append(f"measured: {measured.error or measured.failure}")
    elif math.isfinite(found.latency_us):
        lines.append(f"not measured; the simulator says {found.latency_us:.6g} us without noise")
    else:
        lines.append("not measured; the simulator says that it fails")
    return "\n".join(lines)
