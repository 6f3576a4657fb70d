"""``prunelab gate``: fails where a benchmark's results drifted."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.cli.errors import REGRESSION
from tuner.cli.options import Format, FormatOption, print_json, printable

if TYPE_CHECKING:
    from tuner.bench.drift import Difference, Drift, Gated
    from tuner.bench.saved import Key


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gate")(gate)


def gate(
    base: Annotated[Path, typer.Argument(help="results.json to hold against, or its folder")],
    new: Annotated[Path, typer.Argument(help="results.json that is held, or its folder")],
    tolerance: Annotated[
        float, typer.Option(min=0, help="allowed difference, absolute or relative; 0: equality")
    ] = 0.0,
    fmt: FormatOption = Format.table,
) -> int:
    """Fail on any drift of rates, regret or convergence between two results of a benchmark.

    Exit code 1 where a value drifted, for better or worse, where a cell is missing or extra, or
    where the arguments were others.  Other versions are named.
    """
    from tuner.bench.drift import gate as hold
    from tuner.bench.saved import read_results

    found = hold(read_results(base), read_results(new), tolerance)
    if fmt is Format.json:
        print_json({"passed": found.passed, **_plain(found)})
    else:
        _show(found)
    return 0 if found.passed else REGRESSION


def _plain(found: Gated) -> dict[str, Any]:
    names = ("chip", "workload", "strategy", "arm")
    out = asdict(found)
    for part in ("missing", "extra"):
        out[part] = [dict(zip(names, key, strict=True)) for key in out[part]]
    for part in ("drifts", "notes"):
        for drift in out[part]:
            drift["cell"] = dict(zip(names, drift["cell"], strict=True))
    return out


def _show(found: Gated) -> None:
    from tuner.cli.tables import show

    for difference in (*found.versions, *found.arguments):
        typer.echo(_line(difference))
    for word, keys in (("missing", found.missing), ("extra", found.extra)):
        for key in keys:
            typer.echo(f"{word} cell: {_name(key)}")
    for cell, drifts in _by_cell(found.drifts).items():
        rows = [(d.what, _text(d.base), _text(d.new), d.change) for d in drifts]
        show(("drifted", "base", "new", "change"), rows, title=_name(cell))
    for note in found.notes:
        sign, text = ("-", note.base) if note.change == "missing" else ("+", note.new)
        typer.echo(f"note {sign} {_name(note.cell)}: {printable(str(text))}")
    typer.echo(_verdict(found))


def _line(d: Difference) -> str:
    word = "other version" if d.kind == "version" else "other argument"
    return printable(f"{word}: {d.name} is {d.new!r}, base has {d.base!r}")


def _name(key: Key) -> str:
    return printable("  ".join(key))


def _by_cell(drifts: list[Drift]) -> dict[Key, list[Drift]]:
    out: dict[Key, list[Drift]] = {}
    for drift in drifts:
        out.setdefault(drift.cell, []).append(drift)
    return out


def _text(value: Any) -> str:
    return "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _verdict(found: Gated) -> str:
    if found.passed:
        return f"passed: {found.compared} cells, nothing drifted"
    counts = {"values drifted": len(found.drifts), "cells missing": len(found.missing)}
    counts |= {"cells extra": len(found.extra), "arguments differ": len(found.arguments)}
    worse = sum(d.change == "worse" for d in found.drifts)
    better = sum(d.change == "better" for d in found.drifts)
    said = ", ".join(f"{n} {what}" for what, n in counts.items() if n)
    return f"failed: {said} ({worse} for worse, {better} for better)"
