"""``prunelab fidelity``: the simulators against published measurements of real chips."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.errors import UsageError
from tuner.cli.options import Format, FormatOption, print_json

if TYPE_CHECKING:
    from hwsim.fidelity import Entry

_VARIABLE = "PRUNELAB_MEASURED"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("fidelity")(fidelity)


def fidelity(
    data: Annotated[
        Path | None,
        typer.Option(help=f"folder of measurements [default: ${_VARIABLE}]", show_default=False),
    ] = None,
    fmt: FormatOption = Format.table,
) -> None:
    """Hold the models against every dataset of a folder: errors, ranks, cost of trusting them."""
    from hwsim.fidelity import measure_folder

    folder = _folder(data)
    validation = measure_folder(folder, "validation")
    calibration = measure_folder(folder, "calibration")
    if fmt is Format.json:
        datasets = [entry.to_json() for entry in validation]
        print_json({"datasets": datasets, "calibration": [e.to_json() for e in calibration]})
        return
    if validation:
        _show(validation, "validation: no constant was fitted to these")
    if calibration:
        _show(calibration, "calibration: chips' constants were fitted to these, errors flatter")


def _folder(data: Path | None) -> Path:
    if data is not None:
        return data
    named = os.environ.get(_VARIABLE, "")
    if not named:
        raise UsageError(f"no measurements: give their folder with --data or in ${_VARIABLE}")
    return Path(named)


def _show(entries: list[Entry], title: str) -> None:
    from tuner.cli.tables import show

    show(
        (
            "dataset", "chip", "measure", "n", "MAPE", "Spearman", "optimum rank", "best ten",
            "slow-down", "order", "failures", "skipped",
        ),
        [_cells(entry) for entry in entries],
        title,
    )  # fmt: skip
    for line in dict.fromkeys(line for entry in entries for line in _reasons(entry)):
        typer.echo(f"skipped: {line}")
    typer.echo("")


def _cells(entry: Entry) -> list[str]:
    s = entry.scores
    return [
        entry.dataset,
        entry.chip,
        entry.measure,
        str(s.n),
        _share(s.mape),
        "" if s.spearman is None else f"{s.spearman:.3f}",
        _share(s.optimum_rank_share),
        _share(s.best_ten_rank_share),
        "" if s.predicted_best_slowdown is None else f"{s.predicted_best_slowdown:.2f}x",
        _share(s.order_share),
        _failures(entry),
        str(entry.skipped) if entry.skipped else "",
    ]


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _failures(entry: Entry) -> str:
    """Failures that were predicted of those measured, and kernels wrongly predicted to fail."""
    parts = [
        f"{found['predicted']}/{found['measured']} {kind}" for kind, found in entry.failures.items()
    ]
    wrong = entry.scores.false_failures
    return ", ".join([*parts, f"{wrong} wrong"] if wrong else parts)


def _reasons(entry: Entry) -> list[str]:
    chip = f" on {entry.chip}" if entry.chip else ""
    return [f"{entry.dataset}{chip}: {rows} x {why}" for why, rows in entry.reasons.items()]
