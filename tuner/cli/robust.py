"""``prunelab robust``: what the rules lose when the chip file is wrong."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tuner.cli.errors import UsageError
from tuner.cli.options import Format, FormatOption, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("robust")(robust)


def robust(
    space: Annotated[list[str], typer.Option(help="name of prunelab oracle's catalogue")],
    share: Annotated[float, typer.Option(help="how far a number is off", min=0, max=0.99)] = 0.2,
    rules: Annotated[str, typer.Option(help="rule set")] = "default",
    fmt: FormatOption = Format.table,
) -> int:
    """Make one number of the chip file wrong at a time, and name the rules that lose the optimum.

    The rules read the wrong chip, the truth is the right one's.  Exit code 1 where nothing within
    2 % of the optimum is left.
    """
    from pruner.rulesets import rule_set

    loaded = rule_set(rules)
    rows = [row for name in space for row in _rows(name, share, loaded)]
    brittle = [row for row in rows if row["regret"] is None]
    if fmt is Format.json:
        print_json({"share": share, "rule_set": loaded.name, "numbers": rows})
    else:
        _show(rows, brittle)
    return 1 if brittle else 0


def _rows(name: str, share: float, rules: Any) -> list[dict[str, Any]]:
    from tuner.bench.wrong_chip import NearOptimum, wrong_chips
    from tuner.oracle import catalogue, load

    if name not in catalogue():
        raise UsageError(f"--space {name!r}: expected one of {', '.join(catalogue())}")
    near = NearOptimum(load(catalogue()[name]), rules)
    rows = []
    for number, chip in wrong_chips(near.problem.chip, share):
        if chip is not None:
            kept = near.judged_by(chip)
            regret = round(kept.regret, 6) if kept.regret < float("inf") else None
            rows.append(
                {"space": name, "number": number, "regret": regret, "removed": kept.removed}
            )
    return rows


def _show(rows: list[dict[str, Any]], brittle: list[dict[str, Any]]) -> None:
    from tuner.cli.tables import show

    touched = [r for r in rows if r["removed"]]
    lines = [
        (
            r["space"],
            r["number"],
            "lost" if r["regret"] is None else f"{r['regret']:.2%}",
            ", ".join(f"{rule} ({n})" for rule, n in sorted(r["removed"].items())),
        )
        for r in touched
    ]
    show(("space", "wrong number", "regret", "rules that removed near candidates"), lines)
    typer.echo(
        f"{len(rows)} wrong chips: {len(brittle)} lose all within 2 % of the optimum,"
        f" {len(touched)} some of it"
    )
