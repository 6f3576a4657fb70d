"""``prunelab rules``: the rules and rule sets, printed as they parse back."""

from __future__ import annotations

from typing import Annotated

import typer

from tuner.cli.options import Format, FormatOption, RuleFileOption, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rules")(rules)


def rules(
    rule_set: Annotated[str, typer.Argument(help="default, as-described or heuristic")] = "default",
    rule_file: RuleFileOption = [],
    fmt: FormatOption = Format.table,
) -> None:
    """List the rules of a rule set, in the order in which they get the blame."""
    from pruner.rulesets import rule_set as load

    found = load(rule_set, tuple(str(p) for p in rule_file))
    rows = [found.row(rule) for rule in (*found.task, *found.trial)]
    if fmt is Format.json:
        print_json({"rule_set": found.name, "rules": rows})
        return
    from tuner.cli.tables import show

    show(("stage", "rule", "kind", "backends", "what it does"), [list(r.values()) for r in rows])
