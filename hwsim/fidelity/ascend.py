"""Readers of the Ascend collections; how a row becomes a kernel is in ``ascend_cube.published``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from hwsim.ascend_cube import published
from hwsim.ascend_cube.published_copies import data_copy_case, nd2nz_case
from hwsim.ascend_cube.published_fused import gelu_case, quantised_case
from hwsim.chip import Chip
from hwsim.fidelity.data import Finding, MeasuredError, Source
from hwsim.fidelity.rowwise import Reading, Row, read_rows
from hwsim.fidelity.shelf import Shelf
from hwsim.table import KernelTable

Measured = Mapping[str, tuple[str, str | None]]  # measure -> column, counter
_PIPES = ("mac", "mte1", "mte2", "mte3", "vec", "scalar")  # means over cores on both sides
_TASK: Measured = {
    "latency": ("task_us", None),
    **{f"{pipe}_us": (f"{pipe}_us", f"{pipe}_us") for pipe in _PIPES},
}
_TASK_NAMES = ("task_us", "total_us", "time_us", "median_us")
_NO_TILING = "the row gives no tiling, or a mode that kernel tables do not describe"


def tiling(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """Matmul tiling cases: ``matmul_tiling_910b1``, ``matmul_basic_api_a2``."""
    yield from _read(source, shelf, published.tiling_case, _TASK, ("M", "N", "K", "dtype_a"))


def guide(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``matmul_guide_cases_a2``: core times, without the launch."""
    yield from _read(source, shelf, published.guide_case, {"core_us": ("aic_time_us", "core_us")})


def catlass(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``catlass_gemm``."""
    yield from _read(source, shelf, published.catlass_case, {"latency": ("time_us", None)})


def add(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``add_8192_a2``."""
    yield from _read(source, shelf, published.add_case, _TASK, ("shape", "dtype"))


def nd2nz(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``nd2nz_vector_a2``."""
    yield from _read(source, shelf, nd2nz_case, _TASK)


def data_copy(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``data_copy_a2`` and ``data_copy_l2_a2``: one pass over a tensor by all cores."""
    yield from _read(source, shelf, data_copy_case, _TASK)


def gelu(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``matmul_gelu_a2``."""
    yield from _read(_with_task(source), shelf, gelu_case, _TASK)


def quantised(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``quant_group_matmul_a2``."""
    yield from _read(_with_task(source), shelf, quantised_case, _TASK)


def _with_task(source: Source) -> Source:
    """The time of the whole task under the name that the other collections give it."""
    found = next((name for name in _TASK_NAMES if source.has(name)), "")
    if not found:
        raise MeasuredError(f"no time of the task: expected one of {', '.join(_TASK_NAMES)}")
    return Source(source.name, source.frame.rename(columns={found: "task_us"}))


def _read(
    source: Source,
    shelf: Shelf,
    case: Callable[[Row], KernelTable | None],
    measured: Measured,
    shape: tuple[str, ...] = (),
) -> Iterator[Finding]:
    """``shape``: the columns in which schedules of one problem agree."""

    def problem(row: Row) -> tuple[str, ...]:
        return tuple(row[name] for name in shape)

    reading = Reading(
        chip_of=lambda row: _chip_of(row, shelf),
        table_of=lambda row, chip: case(row),
        measured=measured,
        undescribed=_NO_TILING,
        problem=problem if shape else None,
    )
    yield from read_rows(source, reading)


def _chip_of(row: Row, shelf: Shelf) -> Chip:
    """The named part, or the one that the row's cores and clock point at."""
    named = row.get("chip", "")
    other_part = re.match(r"(?i)ascend[-_ ]?\d", named) and "910B" not in named.upper()
    known = named if other_part or shelf.has_own(named) else published.chip_name(row)
    return shelf.find(known, "ascend_cube")
