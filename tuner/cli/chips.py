"""``prunelab chips``: the chips that ship, or every number of one with its source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.cli.options import Format, FormatOption, print_json

if TYPE_CHECKING:
    from hwsim.chip import Chip


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("chips")(chips)


def chips(
    name: Annotated[str | None, typer.Argument(help="a chip's name or TOML file")] = None,
    fmt: FormatOption = Format.table,
) -> None:
    """List the chips, or show one: every number with its mark and source."""
    if name is None:
        _list(fmt)
    else:
        _show(name, fmt)


def _list(fmt: Format) -> None:
    from hwsim.chips import chip_hash, chip_names, load_chip

    loaded = [load_chip(name) for name in chip_names()]
    rows = [
        {"name": c.name, "backend": c.backend, "version": c.version, "hash": chip_hash(c)}
        for c in loaded
    ]
    if fmt is Format.json:
        print_json(rows)
        return
    from tuner.cli.tables import show

    show(("chip", "backend", "version", "hash"), [list(r.values()) for r in rows])


def _show(name: str, fmt: Format) -> None:
    from hwsim.chips import load_chip

    facts = _facts(load_chip(name))
    if fmt is Format.json:
        print_json(facts)
        return
    from tuner.cli.tables import show

    show(("field", "value", "mark", "source"), [list(f.values()) for f in facts])
    typer.echo("marks: V read in the source, S secondary source, D derived, R recalled,")
    typer.echo("       C calibrated (source: what it was fitted to), A assumed")


def _facts(chip: Chip) -> list[dict[str, Any]]:
    import msgspec

    values = {k: v for k, v in msgspec.to_builtins(chip).items() if k != "provenance"}
    out = []
    for path, value in _flat(values):
        fact = chip.provenance.get(path)
        mark, source = (fact.mark, fact.source) if fact else ("", "")
        out.append({"field": path, "value": value, "mark": mark, "source": source})
    return out


def _flat(node: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
