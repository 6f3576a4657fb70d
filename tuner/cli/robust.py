"""``prunelab robust``: what the rules lose when the chip file is wrong."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tuner.cli.errors import UsageError
from tuner.cli.options import Format, FormatOption, print_json

BATCH = 16


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("robust")(robust)


def robust(
    space: Annotated[list[str], typer.Option(help="name of prunelab oracle's catalogue")],
    share: Annotated[float, typer.Option(help="how far a number is off", min=0, max=0.99)] = 0.2,
    rules: Annotated[str, typer.Option(help="rule set")] = "default",
    trials: Annotated[
        int, typer.Option(help="measurements of a two-stage run with each wrong chip", min=0)
    ] = 0,
    fmt: FormatOption = Format.table,
) -> int:
    """Make one number of the chip file wrong at a time, and name the rules that lose the optimum.

    The pruner reads the wrong chip, the truth is the right one's.  Exit code 1 where nothing within
    2 % of the optimum is left or, with --trials, where a run ends further away.
    """
    rows = [row for name in space for row in _rows(name, share, rules, trials)]
    brittle = [row for row in rows if row["regret"] is None or _far(row["run_regret"])]
    if fmt is Format.json:
        from pruner.rulesets import rule_set

        print_json({"share": share, "rule_set": rule_set(rules).name, "numbers": rows})
    else:
        _show(rows, brittle)
    return 1 if brittle else 0


def _far(run_regret: float | None) -> bool:
    from tuner.bench.wrong_chip import NEAR

    return run_regret is not None and run_regret > NEAR


def _rows(name: str, share: float, rules: str, trials: int) -> list[dict[str, Any]]:
    from pruner.rulesets import rule_set
    from tuner.bench.reached import reach
    from tuner.bench.wrong_chip import NearOptimum, wrong_chips
    from tuner.measure import Memory
    from tuner.oracle import catalogue, load
    from tuner.runs import RunSpec, Shared

    if name not in catalogue():
        raise UsageError(f"--space {name!r}: expected one of {', '.join(catalogue())}")
    oracle, shared = load(catalogue()[name]), Shared(Memory())
    spec = RunSpec("two-stage", "evolutionary", 0, trials, batch=BATCH, rules=rules)
    near = NearOptimum(oracle, rule_set(rules))
    rows = []
    for number, chip in wrong_chips(near.problem.chip, share):
        if chip is not None:
            kept = near.judged_by(chip)
            regret = round(kept.regret, 6) if kept.regret < float("inf") else None
            run = round(reach(oracle, spec, shared, chip).regret, 6) if trials else None
            rows.append(
                {
                    "space": name,
                    "number": number,
                    "regret": regret,
                    "run_regret": run,
                    "removed": kept.removed,
                }
            )
    return rows


def _show(rows: list[dict[str, Any]], brittle: list[dict[str, Any]]) -> None:
    from tuner.cli.tables import show

    touched = [r for r in rows if r["removed"] or _far(r["run_regret"])]
    lines = [
        (
            r["space"],
            r["number"],
            "lost" if r["regret"] is None else f"{r['regret']:.2%}",
            "-" if r["run_regret"] is None else f"{r['run_regret']:.2%}",
            ", ".join(f"{rule} ({n})" for rule, n in sorted(r["removed"].items())),
        )
        for r in touched
    ]
    show(
        ("space", "wrong number", "regret", "run regret", "rules that removed near candidates"),
        lines,
    )
    typer.echo(
        f"{len(rows)} wrong chips: {len(brittle)} lose all within 2 % of the optimum or end their"
        f" run further away, rules remove some of it with {sum(bool(r['removed']) for r in rows)}"
    )
