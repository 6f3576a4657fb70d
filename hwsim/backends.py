"""The one entry of all simulators: ``simulate(table, chip)``."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from hwsim.chip import Chip, ChipError
from hwsim.columns import SIMULATED
from hwsim.result import SimResult
from hwsim.table import KernelTable


def simulate(table: KernelTable, chip: Chip) -> SimResult:
    """Latency or failure of every kernel of ``table`` on ``chip``, by the analytical model.

    Raises
    ------
    ChipError
        A real chip, which is measured and has no simulator.
    ValueError
        The table was made for another backend than the chip's.
    """
    check_simulated(chip)
    if table.backend != chip.backend:
        raise ValueError(
            f"chip {chip.name!r} is a {chip.backend} chip, the table is for {table.backend}"
        )
    model = import_module(f"hwsim.{chip.backend}.analytical")
    return cast(SimResult, model.simulate(table, chip))


def check_simulated(chip: Chip) -> None:
    """``ChipError`` for a chip that has no simulator."""
    if chip.backend not in SIMULATED:
        raise ChipError(
            f"chip {chip.name!r} is a real {chip.backend}, it is measured and has no simulator;"
            " tune and bench take it with --backend local or --backend rpc://HOST:PORT/KEY"
        )
