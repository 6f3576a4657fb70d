"""Putting the commands together, and turning users' mistakes into one clear line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import typer

from tuner.cli import bench, chips, doctor, explain, fidelity, rules, simulate, tune
from tuner.cli.errors import USAGE, user_errors

app = typer.Typer(
    name="prunelab",
    help="Benchmark, regression-test and validate search-space pruning for TVM auto-tuning.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
for module in (bench, tune, explain, simulate, fidelity, chips, rules, doctor):
    module.register(app)


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    command: Any = typer.main.get_command(app)
    try:
        code = command.main(list(arguments), prog_name="prunelab", standalone_mode=False)
    except click.ClickException as error:
        return _fail(error.format_message())
    except click.Abort:
        return _fail("interrupted")
    except KeyboardInterrupt:
        return _fail("interrupted")
    except user_errors() as error:
        return _fail(str(error))
    return code if isinstance(code, int) else 0


def _fail(message: str) -> int:
    line = " ".join(message.split())
    typer.echo(f"error: {line}", err=True)
    return USAGE
