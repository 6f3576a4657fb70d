"""Putting the commands together, and turning users' mistakes into one clear line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from tuner.cli import (
    bench,
    check,
    chips,
    compare,
    doctor,
    explain,
    fidelity,
    gate,
    meta,
    oracle,
    replay,
    report,
    robust,
    rules,
    simulate,
    tune,
)
from tuner.cli.errors import INTERRUPTED, USAGE, Interrupted, user_errors
from tuner.cli.options import printable

app = typer.Typer(
    name="prunelab",
    help="Benchmark, regression-test and validate search-space pruning for TVM auto-tuning.",
    add_completion=True,
    pretty_exceptions_enable=False,
)
for module in (
    bench,
    tune,
    explain,
    simulate,
    oracle,
    check,
    compare,
    gate,
    meta,
    replay,
    report,
    robust,
    fidelity,
    chips,
    rules,
    doctor,
):
    module.register(app)

# ClickException of the click that typer uses: its own since typer 0.26, the distribution before.
_ParseError: Any = typer.BadParameter.__mro__[2]


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    command: Any = typer.main.get_command(app)
    try:
        code = command.main(
            list(arguments) or ["--help"], prog_name="prunelab", standalone_mode=False
        )
    except _ParseError as error:
        return _fail(error.format_message())
    except Interrupted as error:
        return _interrupted(f": {error}")
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted()
    except user_errors() as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    if code == INTERRUPTED:  # how typer hands on a Ctrl-C that no command has caught
        return _interrupted()
    return code if isinstance(code, int) else 0


def _fail(message: str) -> int:
    typer.echo(f"error: {printable(' '.join(message.split()))}", err=True)
    return USAGE


def _interrupted(more: str = "") -> int:
    typer.echo(f"interrupted{printable(more)}", err=True)
    return INTERRUPTED
