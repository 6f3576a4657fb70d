"""``prunelab simulate``: one schedule on one chip, with the reasons for its latency."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.errors import UsageError
from tuner.cli.options import Format, FormatOption, print_json

if TYPE_CHECKING:
    from hwsim.chip import Chip
    from hwsim.simulation import Simulation
    from hwsim.table import KernelTable
    from tuner.problem import Problem

_MATMULS = ("gemm", "batch_matmul")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate)


def simulate(
    chip: Annotated[str | None, typer.Option(help="name or TOML file")] = None,
    tiles: Annotated[str | None, typer.Option(help="NAME=VALUE,... as the kernel has them")] = None,
    kernel: Annotated[str | None, typer.Option(help="what the tiles describe")] = None,
    workload: Annotated[str | None, typer.Option(help="spec or catalogue name")] = None,
    run: Annotated[Path | None, typer.Option(help="a run's log: its best candidate")] = None,
    candidate: Annotated[str | None, typer.Option(help="hash or trial number in the log")] = None,
    trace: Annotated[Path | None, typer.Option(help="MetaSchedule trace, or best.json")] = None,
    decisions: Annotated[
        str | None, typer.Option(help="SKETCH:NAME=VALUE,... as `check` writes them")
    ] = None,
    space: Annotated[
        str | None, typer.Option(help="space of `prunelab oracle` that --decisions are of")
    ] = None,
    timeline: Annotated[Path | None, typer.Option(help="write a trace for Perfetto")] = None,
    fmt: FormatOption = Format.table,
) -> None:
    """Simulate one schedule by both models: latency, bottleneck, time, bytes, what would help.

    The schedule is the best candidate of a run (--run), a trace (--trace), decisions of a design
    space (--chip, --workload and --decisions), or tile parameters by hand (--chip and --tiles;
    --kernel without --tiles lists them).
    """
    if sum(given is not None for given in (run, trace, decisions, tiles or kernel)) != 1:
        raise UsageError(
            "expected one of --run LOG, --trace FILE, --decisions TEXT, or --chip with --tiles"
        )
    if candidate is not None and run is None:
        raise UsageError("--candidate: expected with --run LOG")
    if decisions is not None:
        from tuner.scheduled import of_decisions

        found = of_decisions(_problem(chip, workload, space), decisions)
        _report(found.title, found.table, found.chip, found.decisions, timeline, fmt)
        return
    if run is not None or trace is not None:
        from tuner.scheduled import of_run, of_trace

        found = of_run(run, candidate, chip) if run else of_trace(_path(trace), workload, chip)
        _report(found.title, found.table, found.chip, found.decisions, timeline, fmt)
        return
    _by_hand(chip, kernel, tiles, workload, timeline, fmt)


def _by_hand(
    chip_name: str | None,
    kernel: str | None,
    tiles: str | None,
    workload: str | None,
    timeline: Path | None,
    fmt: Format,
) -> None:
    from hwsim.backends import check_simulated
    from hwsim.by_hand import kernels_of, table_by_hand
    from hwsim.chips import load_chip

    if chip_name is None:
        raise UsageError("--tiles: expected with --chip")
    chip = load_chip(chip_name)
    check_simulated(chip)
    name = kernel or next(iter(kernels_of(chip.backend)))
    if tiles is None:
        _list(chip, name)
        return
    given = _shape(workload, chip) | _pairs(tiles)
    title = ", ".join(f"{key}={value}" for key, value in given.items())
    _report(f"{name} {title}", table_by_hand(chip, name, given), chip, {}, timeline, fmt)


def _problem(chip: str | None, workload: str | None, space: str | None) -> Problem:
    from hwsim.chips import load_chip
    from tuner.oracle import problem_of, recipe_named
    from tuner.problem import Problem
    from tuner.workloads import resolve

    if space is not None:
        return problem_of(recipe_named(space))
    if workload is None or chip is None:
        raise UsageError("--decisions: expected with --chip and --workload, or with --space")
    return Problem.of(resolve(workload), load_chip(chip))


def _pairs(tiles: str) -> dict[str, str]:
    pairs = [part.strip().partition("=") for part in tiles.split(",") if part.strip()]
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise UsageError(f"--tiles {name + equals + value!r}: expected NAME=VALUE,NAME=VALUE")
    given = [name for name, _, _ in pairs]
    for name in given:
        if given.count(name) > 1:
            raise UsageError(f"--tiles: {name} is given {given.count(name)} times, expected once")
    return {name: value for name, _, value in pairs}


def _shape(workload: str | None, chip: Chip) -> dict[str, str]:
    """The sizes and the type of a matmul under the names that the backend's kernel has."""
    if workload is None:
        return {}
    from tuner.workloads import resolve

    found = resolve(workload)
    if found.kind not in _MATMULS:
        raise UsageError(
            f"workload {workload!r}: tiles by hand describe {' and '.join(_MATMULS)};"
            " give other sizes among the --tiles"
        )
    sizes = dict(zip(("k", "n", "m", "batch"), map(str, reversed(found.shapes)), strict=False))
    bits = {"float16": "16", "float32": "32", "int8": "8"}[found.dtype]
    width = {"ascend_cube": {"dtype": found.dtype}, "mlu_sram": {"in_bits": bits}}
    return sizes | width.get(chip.backend, {"bits": bits})


def _list(chip: Chip, kernel: str) -> None:
    from hwsim.by_hand import kernels_of
    from tuner.cli.tables import show

    known = kernels_of(chip.backend)
    if kernel not in known:
        raise UsageError(f"kernel {kernel!r}: {chip.backend} has {', '.join(known)}")
    constructor = known[kernel]
    rows = [
        (name, str(p.annotation), "" if name in constructor.required else str(p.default))
        for name, p in constructor.parameters.items()
    ]
    show(("parameter", "type", "default"), rows, f"{kernel} on {chip.backend}")


def _report(
    title: str,
    table: KernelTable,
    chip: Chip,
    decisions: dict[str, int],
    timeline: Path | None,
    fmt: Format,
) -> None:
    from hwsim.simulation import simulate_both

    simulation = simulate_both(table, chip, timeline=timeline is not None)
    if timeline is not None:
        _write(timeline, simulation, title)
    if fmt is Format.json:
        print_json({"title": title, "decisions": decisions} | simulation.to_json())
        return
    typer.echo(title)
    if decisions:
        typer.echo("  ".join(f"{name}={value}" for name, value in decisions.items()))
    typer.echo("\n".join(simulation.lines()))
    if timeline is not None:
        typer.echo(f"timeline: {timeline} (open it in ui.perfetto.dev or chrome://tracing)")
        typer.echo(f"timeline shows {simulation.coverage()}")


def _write(path: Path, simulation: Simulation, title: str) -> None:
    from hwsim.timeline import write_trace

    try:
        about = {
            "timeline_us": simulation.timeline_us,
            "events_us": simulation.to_json()["events_us"],
            "shows": simulation.coverage(),
        }
        write_trace(path, simulation.spans, simulation.levels, title, about)
    except OSError as error:
        raise UsageError(f"--timeline {path}: {error.strerror}") from None


def _path(path: Path | None) -> Path:
    assert path is not None
    return path
