"""``prunelab tune``: one run; delivers a schedule that TVM compiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    print_pairs,
    printable,
)

if TYPE_CHECKING:
    from tuner.journal import Tally


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tune")(tune)


def tune(
    chip: Annotated[str, typer.Option(help="name or TOML file")],
    workload: Annotated[str, typer.Option(help="spec, catalogue name or .py file")] = "",
    network: Annotated[
        str, typer.Option(help="resnet50, bert-base (with :DTYPE) or .onnx file, instead")
    ] = "",
    space_kind: SpaceKindOption = "generated",
    arm: Annotated[str, typer.Option(help="pruning arm")] = "two-stage",
    strategy: Annotated[str, typer.Option(help="search strategy")] = "evolutionary",
    trials: TrialsOption = 200,
    repeats: RepeatsOption = 3,
    batch: BatchOption = 32,
    seed: SeedOption = 0,
    rules: RulesOption = "default",
    rule_file: RuleFileOption = [],
    cost_model: CostModelOption = "mixed",
    boards: BoardsOption = 0,
    compile_workers: WorkersOption = 0,
    backend: BackendOption = "sim",
    store: StoreOption = "",
    meta: MetaOption = "",
    out: OutOption = Path("out/tune"),
    resume: ResumeOption = False,
    check: Annotated[bool, typer.Option(help="check the result's values on the CPU")] = True,
    fmt: FormatOption = Format.table,
) -> int:
    """Tune one workload, or the tasks of a network together, on one chip."""
    from tuner.bench.folder import with_store
    from tuner.bench.plan import Plan
    from tuner.cli.bench import check_plan

    if bool(workload) == bool(network):
        raise UsageError("expected either --workload or --network")
    plan = Plan(
        chips=(chip,),
        workloads=of_kinds([workload], space_kind) if workload else (),
        arms=(arm,),
        strategies=(strategy,),
        seeds=1,
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
    )
    plan = with_store(plan, store, out)
    if network:
        from tuner.cli.network import run_network

        return run_network(network, plan, out, resume, fmt)
    if len(plan.workloads) > 1:
        raise UsageError(f"--space-kind {space_kind!r}: expected one of the two")
    check_plan(plan)
    return _run(plan, out, resume, check, fmt)


def _run(plan: Any, out: Path, resume: bool, check: bool, fmt: Format) -> int:
    from tuner.bench.folder import check_folder, claim_folder
    from tuner.bench.specs import spec_of
    from tuner.cli.progress import Bars
    from tuner.interrupt import Interrupt
    from tuner.problem import Problem
    from tuner.runs import execute, run_name
    from tuner.workloads import resolve

    check_folder(out, plan, resume)
    problem = Problem.of(resolve(plan.workloads[0]), plan.chip(plan.chips[0]))
    if plan.backend == "sim":
        problem.check_readable()
    claim_folder(out, plan, resume)
    spec = spec_of(plan, plan.strategies[0], plan.arms[0], plan.seed)
    name = run_name(problem, spec)
    log = out / "runs" / f"{name}.jsonl"
    interrupt = Interrupt()
    with Bars(plan) as bars, interrupt:
        tally = execute(
            problem,
            spec,
            log,
            resume=resume,
            progress=lambda *state: bars.update((name, *state)),
            stopped=interrupt,
        )
    if interrupt():
        raise interrupted(out)
    return _deliver(problem, log, tally, out, check, fmt, plan.store)


def _deliver(
    problem: Any, log: Path, tally: Tally, out: Path, check: bool, fmt: Format, store: str
) -> int:
    from traces import Note, TaskPrune, Trial, read
    from tuner.deliver import check_values, deliver

    records = list(read(log))
    trials = [r for r in records if isinstance(r, Trial)]
    worked = [t for t in trials if t.measurement is not None and t.measurement.failure is None]
    if not worked:
        raise UsageError(
            f"none of the {tally.measured} measured candidates runs on {problem.chip.name};"
            f" prunelab explain {log} 0 says why"
        )
    best = deliver(problem, worked, out)
    summary = {
        "chip": best["chip"],
        "workload": best["workload"],
        "best_us": float(f"{best['latency_us']:.6g}"),
        "measured": tally.measured,
        "pruned": tally.pruned,
        "pruned_values": sum(len(r.values) for r in records if isinstance(r, TaskPrune)),
        "failed": tally.failed,
        "ended": tally.reason,
        "virtual_s": round(tally.virtual_s, 3),
        "candidate": best["candidate"],
        "log": str(log),
        "schedule": str(out / "best.py"),
    }
    if check:
        summary["values"] = check_values(problem, best["sketch"], best["decisions"])
    if store:
        summary["store"] = _remember(store, problem, log, best, check)
    notes = [r.text for r in records if isinstance(r, Note)]
    if fmt is Format.json:
        print_json({**summary, "notes": notes})
    else:
        print_pairs(
            {
                **summary,
                "pruned": f"{summary['pruned']} candidates during the search",
                "pruned_values": f"{summary['pruned_values']} by the task stage, before it",
            }
        )
        for note in notes:
            typer.echo(printable(f"note: {note}"))
    return 0


def _remember(folder: str, problem: Any, log: Path, best: dict[str, Any], check: bool) -> str:
    """Leave the run to the next, and its schedule to the whitelist where it can be proven."""
    from traces.store import Proven, Store
    from tuner.feedback import remember
    from tuner.proof import prove

    store = Store(folder)
    said = f"{remember(store, problem, log)} new measurements"
    if not check:
        return said
    found = prove(problem, best["sketch"], best["decisions"])
    if not isinstance(found, Proven):
        return f"{said}; not on the whitelist: {found}"
    return f"{said}; on the whitelist{'' if store.add([found]) else ' already'}"
