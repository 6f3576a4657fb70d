"""Tables on the terminal; plain lines where there is no terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tuner.cli.options import printable


def show(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    title: str | None = None,
    *,
    numbers: bool = False,
) -> None:
    """Print a table; cells are text, never markup, since some come from users' files.

    ``numbers``: all columns but the first hold numbers.
    """
    table = Table(
        title=Text(title) if title else None, title_justify="left", box=None, pad_edge=False
    )
    for i, name in enumerate(columns):
        right = numbers and i > 0
        table.add_column(Text(name), overflow="fold", justify="right" if right else "left")
    for row in rows:
        table.add_row(*(Text(printable(str(cell))) for cell in row))
    console = Console()
    width = console.width if console.is_terminal else 200
    Console(width=width).print(table)
