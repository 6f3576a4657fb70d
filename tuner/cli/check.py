"""``prunelab check``: holds a rule against simulated truth and says whether it may ship."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.bench.plan import DEFAULT_CHIPS, DEFAULT_WORKLOADS
from tuner.cli.errors import REGRESSION, UsageError
from tuner.cli.options import Format, FormatOption, RulesOption, SeedOption, print_json, printable

if TYPE_CHECKING:
    from pruner.host import Described
    from tuner.problem import Problem
    from tuner.rulecheck.case import Case
    from tuner.rulecheck.check import CaseResult, RuleResult


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check")(check)


def check(
    file: Annotated[
        Path | None, typer.Argument(help=".py file with rules", metavar="RULE.py")
    ] = None,
    rule: Annotated[
        list[str], typer.Option(help="a rule by its spec: occupancy-floor{share=0.3}")
    ] = [],
    chip: Annotated[list[str], typer.Option(help="name or TOML file")] = list(DEFAULT_CHIPS),
    workload: Annotated[list[str], typer.Option(help="spec, catalogue name or .py file")] = list(
        DEFAULT_WORKLOADS
    ),
    space: Annotated[
        list[str], typer.Option(help="space of `prunelab oracle` instead of chips and workloads")
    ] = [],
    rules: RulesOption = "default",
    max_regret: Annotated[
        float, typer.Option(min=0, help="how much slower the best may become")
    ] = 0.0,
    max_false_prunes: Annotated[
        float, typer.Option(min=0, help="share of what is within 5 % of the optimum that may go")
    ] = 0.01,
    limit_s: Annotated[
        float, typer.Option(min=0.1, help="seconds that a rule may take for an answer")
    ] = 30.0,
    seed: SeedOption = 0,
    fmt: FormatOption = Format.table,
) -> int:
    """Hold a user's rule against simulated truth: ship, or do not ship, and why.

    What it prunes alone and beyond the rule set and TVM's verifier, what it should not have pruned,
    what the best of the space becomes, what it costs, and its worst mistakes by name.  The rule
    runs in a process of its own, so that one that loops or crashes is named.  Exit code 1 where a
    rule must not ship.
    """
    from pruner.host import RuleHost
    from tuner.rulecheck.check import check_rules
    from tuner.rulecheck.verdict import Bounds

    if file is None and not rule:
        raise UsageError("no rule: give a .py file, or a spec with --rule")
    with RuleHost([str(file)] if file else [], limit_s) as host:
        found = host.describe(rule)
        cases = _cases(found, space, chip, workload, rules, seed)
        bounds = Bounds(max_regret, max_false_prunes)
        results = list(check_rules(host, found, cases, bounds))
    if fmt is Format.json:
        print_json({"rules": [result.to_json() for result in results]})
    else:
        for result in results:
            _show(result)
    return 0 if all(result.ships for result in results) else REGRESSION


def _cases(
    found: list[Described],
    spaces: list[str],
    chips: list[str],
    workloads: list[str],
    rules: str,
    seed: int,
) -> list[Case]:
    """The spaces that one of the rules can read."""
    from hwsim.chips import load_chip
    from pruner.rulesets import rule_set
    from tuner.oracle import recipe_named
    from tuner.rulecheck.sources import of_spaces, of_workloads
    from tuner.workloads import resolve

    base = rule_set(rules)
    wanted = {backend for rule in found for backend in rule.backends}
    recipes = [recipe_named(name) for name in dict.fromkeys(spaces)]
    if recipes:
        return of_spaces([r for r in recipes if load_chip(r.chip).backend in wanted], base)
    programs = [resolve(name) for name in dict.fromkeys(workloads)]
    loaded = [load_chip(name) for name in dict.fromkeys(chips)]
    return of_workloads([c for c in loaded if c.backend in wanted], programs, base, seed)


def _show(result: RuleResult) -> None:
    from tuner.cli.tables import show

    typer.echo(printable(f"{result.rule.spec} ({result.rule.stage} stage)"))
    columns = (
        "space", "candidates", "pruned", "above\nrule set", "above\nverifier", "false\nprunes",
        "space\nregret", "us single", "us batch",
    )  # fmt: skip
    show(columns, [_row(case) for case in result.cases], numbers=True)
    for case in result.cases:
        _show_worst(case)
        for remark in case.remarks:
            typer.echo(printable(f"note: {_name(case)}: {remark}"))
    for reason in result.reasons:
        typer.echo(printable(f"reason: {reason}"))
    typer.echo(f"verdict: {'ship' if result.ships else 'do not ship'}")


def _name(case: CaseResult) -> str:
    return case.case.label


def _row(case: CaseResult) -> list[str]:
    if case.findings is None:
        return [_name(case), *["-"] * 8]
    m, cost = case.findings.measures, case.findings.cost
    shares = ("pruning_rate", "pruning_rate_above_base", "pruning_rate_above_verifier",
              "false_prune_rate", "space_regret")  # fmt: skip
    single, batch = cost.get("us_single", cost.get("task_us")), cost.get("us_batch")
    return [
        _name(case),
        f"{m['candidates']:,.0f}" + ("" if case.case.exhaustive else " of more"),
        *("-" if m[key] is None else f"{m[key]:.2%}" for key in shares),
        "-" if single is None else f"{single:g}",
        "-" if batch is None else f"{batch:g}",
    ]


def _show_worst(case: CaseResult) -> None:
    for worst in case.findings.worst if case.findings else ():
        head = f"pruned {worst.candidate}: {worst.latency_us:.6g} us, optimum {worst.beyond:+.2%}"
        typer.echo(f"{head} ({_name(case)})")
        typer.echo(printable(f"  {worst.why.reason}"))
        c = case.case
        typer.echo(f"  prunelab simulate {_where(c.problem)} --decisions '{worst.decisions}'")


def _where(problem: Problem) -> str:
    if problem.space:
        return f"--space {problem.space}"
    return f"--chip {problem.chip.name} --workload {problem.workload.name}"
