"""Options that several commands share."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tuner.cli.errors import Interrupted, UsageError


class Format(str, enum.Enum):
    """How a command prints."""

    table = "table"
    json = "json"


FormatOption = Annotated[
    Format, typer.Option("--format", help="table for people, json for programs")
]
TrialsOption = Annotated[int, typer.Option(help="measurements of a run")]
RepeatsOption = Annotated[int, typer.Option(help="latencies of a measurement")]
BatchOption = Annotated[int, typer.Option(help="measurements of a round")]
RulesOption = Annotated[
    str, typer.Option(help="rule set: default, as-described or heuristic; more with +RULE")
]
RuleFileOption = Annotated[list[Path], typer.Option(help=".py file with more rules")]
CostModelOption = Annotated[
    str, typer.Option(help="what predicts: mixed, lightgbm, mlp, random or oracle")
]
SeedOption = Annotated[int, typer.Option(min=0, help="the one seed; the same gives the same bytes")]
BoardsOption = Annotated[
    int, typer.Option(min=0, help="boards of the modelled farm; 0: as the chip file says")
]
WorkersOption = Annotated[
    int, typer.Option(min=0, help="compile workers of the modelled farm; 0: as the chip file says")
]
BackendOption = Annotated[
    str, typer.Option(help="what measures: sim, local, or rpc://HOST:PORT/KEY of a TVM tracker")
]
MetaOption = Annotated[
    str, typer.Option("--meta", help="model of the arm meta; without it the one that ships")
]
StoreOption = Annotated[
    str, typer.Option(help="folder that finished runs fill and that the next ones learn from")
]
SpaceKindOption = Annotated[
    str, typer.Option(help="generated, template (a few knobs), or where several fit a list of both")
]
OutOption = Annotated[Path, typer.Option(help="folder for results and logs")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="go on with an interrupted run")]


def printable(text: str) -> str:
    """Text of others for the terminal: control characters are shown, not obeyed."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def interrupted(out: Path) -> Interrupted:
    """Ctrl-C in a run that can be gone on with."""
    return Interrupted(f"what was measured is kept; go on with --out {out} --resume")


def positive(name: str, value: int) -> int:
    """``value``, which has to be at least 1; the error names the option."""
    if value < 1:
        raise UsageError(f"--{name} {value}: expected at least 1")
    return value


def print_json(value: Any) -> None:
    """Machine-readable output, keys in the order given."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_pairs(pairs: Mapping[str, Any]) -> None:
    """One ``key: value`` a line, aligned."""
    width = max(map(len, pairs), default=0)
    for key, value in pairs.items():
        typer.echo(f"{key:<{width}}  {value}")


def of_kinds(workloads: Sequence[str], text: str) -> tuple[str, ...]:
    """Each workload in each space kind of the comma-separated ``text``."""
    from tuner.workloads import GENERATED, SPACES

    kinds = [kind.strip() for kind in text.split(",") if kind.strip()]
    for kind in kinds or [""]:
        if kind not in SPACES:
            raise UsageError(f"--space-kind {text!r}: expected {' or '.join(SPACES)}")
    return tuple(w if kind == GENERATED else f"{w}@{kind}" for w in workloads for kind in kinds)
