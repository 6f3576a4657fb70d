"""``prunelab replay``: how a run went, from its log; --verify makes it again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.errors import REGRESSION
from tuner.cli.options import Format, FormatOption, print_json, print_pairs, printable

if TYPE_CHECKING:
    from tuner.replay import Replayed, Verified


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay")(replay)


def replay(
    log: Annotated[Path, typer.Argument(help="a run's log, runs/*.jsonl, or an audit file")],
    verify: Annotated[
        bool, typer.Option("--verify", help="make the run again and compare every byte")
    ] = False,
    export: Annotated[
        Path | None, typer.Option(help="write an audit file: hashes, log, chain of every decision")
    ] = None,
    chip: Annotated[str | None, typer.Option(help="the chip's file, where it has moved")] = None,
    fmt: FormatOption = Format.table,
) -> int:
    """Replay a run from its log: the best so far over measurements and time, what was skipped.

    With --verify, problem, rules and gate are built again from the log's header, and every
    verdict and measurement is derived anew.  Exit code 1 names the first difference.
    """
    from tuner.audit import export_audit, opened
    from tuner.replay import replay as play
    from tuner.replay import verify as make_again

    with opened(log) as source:
        played = play(source.log)
        found = make_again(source.log, chip) if verify else None
        if found is not None and found.difference is None:
            found = source.check_chains(found, chip)
        if export is not None:
            export_audit(source.log, export, chip)
    if fmt is Format.json:
        print_json(_plain(played, found))
    elif found is not None:
        _show_verified(found, played.ended is not None)
    else:
        _show(played)
    if export is not None and fmt is Format.table:
        typer.echo(f"audit: {export}")
    return REGRESSION if found is not None and found.difference else 0


def _plain(played: Replayed, found: Verified | None) -> dict[str, object]:
    import msgspec

    out = {**asdict(played), "header": msgspec.to_builtins(played.header)}
    return out if found is None else {**out, "verified": asdict(found)}


def _show(played: Replayed) -> None:
    from tuner.cli.tables import show

    h = played.header
    title = f"{h.workload} on {h.chip}, arm {h.arm}, {h.strategy}, seed {h.seed}"
    rows = [(s.measured, f"{s.virtual_s:.6g}", f"{s.best_us:.6g}", s.candidate)
            for s in played.steps]  # fmt: skip
    typer.echo(printable(title))
    show(("measured", "virtual s", "best us", "candidate"), rows)
    pairs = {"offered": played.offered, "measured": played.measured, "failed": played.failed}
    pairs |= {f"skipped by {printable(rule)}": n for rule, n in played.skipped.items()}
    print_pairs({**pairs, "virtual_s": played.virtual_s, "ended": played.ended or "interrupted"})
    if played.damaged:
        typer.echo(f"note: the log is damaged: {played.damaged}; the counts are of what is there")


def _show_verified(found: Verified, whole: bool) -> None:
    if found.difference:
        typer.echo(printable(f"differs: {found.difference}"))
        return
    typer.echo(
        f"verified: {found.lines} lines, {found.trials} decisions and {found.measured}"
        " measurements come out again, byte for byte"
        + ("" if whole else "; the log ends before the run does")
    )
