"""``prunelab explain``: the chain of verdicts of a candidate or a value, with numbers and units."""

from __future__ import annotations

import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.errors import UsageError
from tuner.cli.options import Format, FormatOption, print_json

if TYPE_CHECKING:
    from tuner.explained import Explained
    from tuner.overview import Blame

_VALUE = re.compile(r"(?P<sketch>\d+):(?P<decision>[^=]+)(=(?P<value>.*))?", re.ASCII)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    log: Annotated[Path, typer.Argument(help="a run's log, runs/*.jsonl")],
    what: Annotated[
        str | None,
        typer.Argument(help="candidate, trial number or SKETCH:DECISION[=VALUE]"),
    ] = None,
    chip: Annotated[str | None, typer.Option(help="the chip's file, where it has moved")] = None,
    fmt: FormatOption = Format.table,
) -> None:
    """Say why something was pruned or kept: every rule with its numbers.

    WHAT is a candidate's hash (or its beginning) or its trial's number; or a
    value of a sampling decision, such as 0:i.tile=4x1x8, which the task stage
    looks at before the search.  0:i.tile lists what was removed of a decision.
    Without WHAT: which rule pruned how much.
    """
    value = _VALUE.fullmatch(what or "")
    if what is None:
        _overview(log, fmt)
    elif value is None:
        _candidate(log, what, chip, fmt)
    elif value["value"] is None:
        _removed(log, int(value["sketch"]), value["decision"], chip, fmt)
    else:
        _value(log, int(value["sketch"]), value["decision"], value["value"], chip, fmt)


def _overview(log: Path, fmt: Format) -> None:
    from tuner.overview import overview

    header, rows = overview(log)
    if fmt is Format.json:
        print_json([asdict(row) for row in rows])
        return
    from tuner.cli.tables import show

    typer.echo(f"{header.workload} on {header.chip}, arm {header.arm}, rules {header.rule_set}")
    if not rows:
        typer.echo("nothing was pruned")
        return
    titles = ("stage", "rule", "of", "pruned", "left", "for example")
    cells = [(r.stage, r.rule, r.where, r.pruned, _left(r), r.example) for r in rows]
    show(titles, cells)


def _left(row: Blame) -> str:
    return "" if row.left is None else str(row.left)


def _removed(log: Path, sketch: int, decision: str, chip: str | None, fmt: Format) -> None:
    from tuner.overview import removed

    rows = removed(log, sketch, decision)
    if not rows:
        from tuner.explained import check_decision

        check_decision(log, sketch, decision, chip)
        raise UsageError(f"{log}: the task stage removed nothing of {sketch}:{decision}")
    if fmt is Format.json:
        print_json([{"value": value, "rule": rule} for value, rule in rows])
        return
    from tuner.cli.tables import show

    show(("removed value", "by"), rows)


def _value(
    log: Path, sketch: int, decision: str, value: str, chip: str | None, fmt: Format
) -> None:
    from pruner.explain import to_text
    from pruner.verdict import to_json
    from tuner.explained import explain_value

    found = explain_value(log, sketch, decision, value, chip)
    typer.echo(to_json(found) if fmt is Format.json else to_text(found))


def _candidate(log: Path, wanted: str, chip: str | None, fmt: Format) -> None:
    from pruner.verdict import to_json
    from tuner.explained import explain as find

    found = find(log, wanted, chip)
    typer.echo(to_json(found.explanation) if fmt is Format.json else _text(found))


def _text(found: Explained) -> str:
    from pruner.explain import to_text

    decisions = "  ".join(f"{name}={value}" for name, value in found.decisions.items())
    lines = [f"trial {found.trial.index}, sketch {found.trial.sketch}: {decisions}"]
    lines.append(to_text(found.explanation))
    measured = found.trial.measurement
    if measured is not None and measured.failure is None:
        bound = f", bottleneck {measured.bottleneck}" if measured.bottleneck else ""
        lines.append(f"measured: {measured.mean_us:.6g} us{bound}")
    elif measured is not None:
        lines.append(f"measured: {measured.error or measured.failure}")
    elif found.latency_us is None:
        lines.append("not measured")
    elif math.isfinite(found.latency_us):
        lines.append(f"not measured; the simulator says {found.latency_us:.6g} us without noise")
    else:
        lines.append("not measured; the simulator says that it fails")
    return "\n".join(lines)
