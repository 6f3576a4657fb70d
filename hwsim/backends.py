"""The one entry of all simulators: ``simulate(table, chip)``."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from hwsim.chip import Chip
from hwsim.result import SimResult
from hwsim.table import KernelTable


def simulate(table: KernelTable, chip: Chip) -> SimResult:
    """Latency or failure of every kernel of ``table`` on ``chip``, by the analytical model.

    Raises
    ------
    ValueError
        The table was made for another backend than the chip's.
    """
    if table.backend != chip.backend:
        raise ValueError(
            f"chip {chip.name!r} is a {chip.backend} chip, the table is for {table.backend}"
        )
    model = import_module(f"hwsim.{chip.backend}.analytical")
    return cast(SimResult, model.simulate(table, chip))
