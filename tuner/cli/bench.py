"""``prunelab bench``: arms x chips x workloads x strategies x seeds, a table and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.bench.plan import (
    CONTROL,
    DEFAULT_ARMS,
    DEFAULT_CHIPS,
    DEFAULT_WORKLOADS,
    Plan,
    file_name,
)
from tuner.cli.errors import UsageError
from tuner.cli.options import (
    BackendOption,
    BatchOption,
    BoardsOption,
    CostModelOption,
    Format,
    FormatOption,
    MetaOption,
    OutOption,
    RepeatsOption,
    ResumeOption,
    RuleFileOption,
    RulesOption,
    SeedOption,
    SpaceKindOption,
    StoreOption,
    TrialsOption,
    WorkersOption,
    interrupted,
    of_kinds,
    positive,
    print_json,
    printable,
)

if TYPE_CHECKING:
    from tuner.bench.cells import GroupResult


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench")(bench)


def bench(
    chip: Annotated[
        list[str], typer.Option(help="name or TOML file", show_default=", ".join(DEFAULT_CHIPS))
    ] = [],
    workload: Annotated[
        list[str],
        typer.Option(
            help="spec, catalogue name or .py file", show_default=", ".join(DEFAULT_WORKLOADS)
        ),
    ] = [],
    space: Annotated[
        list[str], typer.Option(help="with its own chip and workload; prunelab oracle lists them")
    ] = [],
    space_kind: SpaceKindOption = "generated",
    arms: Annotated[str, typer.Option(help="comma-separated")] = ",".join(DEFAULT_ARMS),
    strategy: Annotated[str, typer.Option(help="comma-separated")] = "evolutionary",
    seeds: Annotated[int, typer.Option(help="how many seeds, from --seed on")] = 3,
    seed: SeedOption = 0,
    trials: TrialsOption = 200,
    repeats: RepeatsOption = 3,
    batch: BatchOption = 32,
    rules: RulesOption = "default",
    rule_file: RuleFileOption = [],
    cost_model: CostModelOption = "mixed",
    boards: BoardsOption = 0,
    compile_workers: WorkersOption = 0,
    backend: BackendOption = "sim",
    store: StoreOption = "",
    meta: MetaOption = "",
    out: OutOption = Path("out/bench"),
    resume: ResumeOption = False,
    fmt: FormatOption = Format.table,
) -> int:
    """Compare pruning arms on simulated chips."""
    from tuner.bench.folder import with_store

    if space and (chip or workload):
        raise UsageError("--space has its own chip and workload: expected no --chip, no --workload")
    plan = Plan(
        chips=() if space else tuple(dict.fromkeys(chip)) or DEFAULT_CHIPS,
        spaces=tuple(dict.fromkeys(space)),
        arms=_arms(arms),
        strategies=_strategies(strategy),
        seeds=positive("seeds", seeds),
        seed=seed,
        trials=positive("trials", trials),
        repeats=positive("repeats", repeats),
        batch=positive("batch", batch),
        rules=rules,
        rule_files=tuple(str(p) for p in rule_file),
        cost_model=cost_model,
        boards=boards,
        meta=meta,
        compile_workers=compile_workers,
        backend=backend,
        workloads=()  # last, as it imports what the mistakes above need not wait for
        if space
        else of_kinds(tuple(dict.fromkeys(workload)) or DEFAULT_WORKLOADS, space_kind),
    )
    check_plan(plan)
    return _run(with_store(plan, store, out), out, resume, fmt)


def _arms(text: str) -> tuple[str, ...]:
    from tuner.arms import arms_named

    return tuple(arm.name for arm in arms_named(text))


def _strategies(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UsageError("--strategy: expected a list such as evolutionary,mcts")
    return tuple(dict.fromkeys(names))


def check_plan(plan: Plan) -> None:
    """Everything that a user can have got wrong is found before anything runs."""
    from hwsim.chips import load_chip
    from pruner.meta.model import load
    from pruner.rulesets import rule_set
    from tuner.arms import arm_named
    from tuner.hardware.address import check_backend
    from tuner.models import MODELS
    from tuner.search import STRATEGIES
    from tuner.workloads import resolve

    for arm in plan.arms:
        arm_named(arm)
    for strategy in plan.strategies:
        if strategy not in STRATEGIES:
            raise UsageError(f"strategy {strategy!r}: expected one of {', '.join(STRATEGIES)}")
    if plan.cost_model not in MODELS:
        expected = ", ".join(MODELS)
        raise UsageError(f"--cost-model {plan.cost_model}: expected one of {expected}")
    for given in plan.chips:
        check_backend(plan.backend, load_chip(given))
    _check_spaces(plan)
    _distinct("chip", {given: load_chip(given).name for given in plan.chips})
    _distinct("workload", {given: file_name(resolve(given).name) for given in plan.workloads})
    rule_set(plan.rules, plan.rule_files)
    if plan.meta:
        load(Path(plan.meta))


def _check_spaces(plan: Plan) -> None:
    """Every space is known, and every arm can be kept within it."""
    from tuner.arms import ARMS
    from tuner.oracle import recipe_named

    outside = [arm for arm in plan.arms if ARMS[arm].tvm]
    for recipe in map(recipe_named, plan.spaces):
        if outside and recipe.restricted:
            raise UsageError(
                f"arm {outside[0]}: TVM searches its own design space, not the restricted"
                f" {recipe.name}"
            )


def _distinct(what: str, names: dict[str, str]) -> None:
    """Runs of one folder are told apart by name; ``names`` are those of what was given."""
    first: dict[str, str] = {}
    for given, name in names.items():
        if name in first:
            raise UsageError(f"{what} {given}: has the same name as {first[name]}: {name}")
        first[name] = given


def _run(plan: Plan, out: Path, resume: bool, fmt: Format) -> int:
    from tuner.bench.folder import claim_folder
    from tuner.bench.pool import run_groups
    from tuner.bench.results import write_results
    from tuner.cli.progress import Bars

    claim_folder(out, plan, resume)
    try:
        with Bars(plan) as bars:
            groups = run_groups(plan, out, resume, bars.update, bars.stopping)
    except KeyboardInterrupt:
        raise interrupted(out) from None
    results = write_results(out, plan, groups)
    _remember(plan, out)
    _show(results, groups, out, fmt)
    return 0


def _remember(plan: Plan, out: Path) -> None:
    """All runs leave what they measured to the next, now that none of these can see it."""
    if not plan.store:
        return
    from traces.store import Store
    from tuner.bench.specs import problem_in, spec_of
    from tuner.feedback import remember
    from tuner.runs import run_name

    for group in plan.groups():
        problem = problem_in(plan, group)
        for strategy, arm, seed in plan.runs():
            name = run_name(problem, spec_of(plan, strategy, arm, seed))
            remember(Store(plan.store), problem, out / "runs" / f"{name}.jsonl")


def _show(results: dict[str, Any], groups: list[GroupResult], out: Path, fmt: Format) -> None:
    from tuner.bench.show import show_cells, show_space_kinds
    from tuner.report import write_report

    report = write_report(out, results, [c for g in groups for c in g.curves])
    if fmt is Format.json:
        print_json(results)
        return
    show_cells(results["cells"])
    show_space_kinds(results["cells"])
    for group in groups:
        for cell in group.cells:
            for note in cell["notes"]:
                where = f"{cell['chip']} {cell['workload']} {cell['arm']}"
                typer.echo(f"note: {where}: {printable(note)}")
    if not any(cell["arm"] == CONTROL for cell in results["cells"]):
        typer.echo(f"note: without the arm {CONTROL} no arm has a speed-up or a vs {CONTROL}")
    typer.echo(f"report: {report}")
