"""Readers of the MLU370 collections; how a row becomes a kernel is in ``mlu_sram.published``."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator

import msgspec

from hwsim.chip import Chip, ChipError
from hwsim.fidelity.data import Finding, Source
from hwsim.fidelity.rowwise import Reading, Row, read_rows
from hwsim.fidelity.shelf import Shelf
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.kernels import matmul_table
from hwsim.mlu_sram.published import experiment_tiles, ladder_tiles
from hwsim.mlu_sram.tiles import MatmulTiles
from hwsim.table import KernelTable

_LONG_US = 1000.0  # below it launches and the host weigh too much


def tile_experiments(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``tile_experiments``: versions of matmul kernels, several to a problem."""
    yield from _read(
        source, shelf, experiment_tiles, ("time_us_best", 1.0), lambda row: row["problem"],
        "the row gives no tile parameters",
    )  # fmt: skip


def ladder(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``bang_ladder``: one matmul in six steps of optimisation; scalar code has no tiles."""
    yield from _read(
        source, shelf, ladder_tiles, ("mlu_ms", 1e3), None,
        "scalar code, or a step whose loops are not given",
    )  # fmt: skip


def _read(
    source: Source,
    shelf: Shelf,
    tiles_of: Callable[[Row], MatmulTiles | None],
    column: tuple[str, float],
    problem: Callable[[Row], Hashable] | None,
    undescribed: str,
) -> Iterator[Finding]:
    def table_of(row: Row, chip: Chip) -> KernelTable | None:
        tiles = tiles_of(row)
        return None if tiles is None else matmul_table([tiles], _mlu(chip))

    reading = Reading(
        chip_of=lambda row: _chip_of(row, shelf),
        table_of=table_of,
        measured={"latency": (column[0], None)},
        undescribed=undescribed,
        problem=problem,
        scale=column[1],
        split_us=_LONG_US,
    )
    yield from read_rows(source, reading)


def _chip_of(row: Row, shelf: Shelf) -> Chip:
    """The board that a row names (``MLU370-X4K`` is an X4), at the clock that it states."""
    board = re.match(r"(?i)mlu370-[a-z]\d", row["chip"])
    chip = _mlu(shelf.find(board[0] if board else row["chip"], "mlu_sram"))
    try:
        clock_mhz = float(row.get("clock_mhz") or chip.clock_mhz)
    except ValueError:
        raise ChipError(f"clock_mhz {row['clock_mhz']!r}: expected a number") from None
    return msgspec.structs.replace(chip, clock_mhz=clock_mhz)


def _mlu(chip: Chip) -> MluChip:
    if not isinstance(chip, MluChip):
        raise ChipError(f"chip {chip.name!r}: expected an MLU370")
    return chip
