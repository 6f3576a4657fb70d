"""Reader of TopHub: the best AutoTVM schedule found for each of many operators on NVIDIA GPUs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hwsim.cells import whole
from hwsim.chip import Chip
from hwsim.fidelity.data import Finding, MeasuredError, Source
from hwsim.fidelity.rowwise import Reading, Row, read_rows
from hwsim.fidelity.shelf import Shelf
from hwsim.gpu_sm.autotvm import Conv2d, Split, batch_matmul, conv2d_nchw
from hwsim.table import KernelTable

_HUGE = 2**31  # no size of a kernel


def tophub(source: Source, shelf: Shelf) -> Iterator[Finding]:
    """``tophub_cuda*``: direct convolutions and batched matmuls in fp32."""
    reading = Reading(
        chip_of=lambda row: shelf.find(row["device"], "gpu_sm"),
        table_of=_table,
        measured={"latency": ("time_s", None)},
        undescribed="a template without a constructor here: only conv2d_nchw and batch_matmul",
        scale=1e6,
        split_us=100.0,
    )
    yield from read_rows(source, reading)


def _table(row: Row, chip: Chip) -> KernelTable | None:
    if row["dtype"] != "float32":
        return None
    if row["task"] == "conv2d_nchw.cuda":
        return _conv2d(row)
    return _batch_matmul(row) if row["task"] == "batch_matmul.cuda" else None


def _conv2d(row: Row) -> KernelTable:
    batch, depth, in_height, in_width = _list(row, "data_shape", 4)
    filters, _, height, width = _list(row, "weight_shape", 4)
    stride, padding, dilation = _pairs(row)
    top, left, bottom, right = padding if len(padding) == 4 else (*padding, *padding)
    shape = Conv2d(
        batch, depth, in_height, in_width, filters, height, width,
        (stride[0], stride[1]), (top + bottom, left + right), (dilation[0], dilation[1]),
    )  # fmt: skip
    f, y, x = (
        Split.of(extent, _list(row, name, 4))
        for extent, name in zip((filters, *shape.out), ("tile_f", "tile_y", "tile_x"), strict=True)
    )
    reduce = tuple(_list(row, name, 2)[1] for name in ("tile_rc", "tile_ry", "tile_rx"))
    unroll = whole(row, "auto_unroll_max_step", 0)
    return conv2d_nchw(shape, f, y, x, (reduce[0], reduce[1], reduce[2]), unroll)


def _batch_matmul(row: Row) -> KernelTable:
    batch, m, k = _list(row, "data_shape", 3)
    _, n, _ = _list(row, "weight_shape", 3)
    y = Split.of(m, _list(row, "tile_y", 3))
    x = Split.of(n, _list(row, "tile_x", 3))
    unroll = whole(row, "auto_unroll_max_step", 0)
    return batch_matmul(batch, m, n, k, y, x, _list(row, "tile_k", 2)[1], unroll)


def _list(row: Row, column: str, length: int) -> list[int]:
    value = _json(row, column)
    if not _whole(value) or len(value) != length:
        raise MeasuredError(f"{column} {row[column]!r}: expected a list of {length} whole numbers")
    return list(value)


def _pairs(row: Row) -> list[list[int]]:
    """Stride, padding and dilation, the first three of ``other_args``."""
    value = _json(row, "other_args")
    first = value[:3] if isinstance(value, list) and len(value) == 4 else []
    if not all(map(_whole, first)) or [len(part) for part in first] not in ([2, 2, 2], [2, 4, 2]):
        raise MeasuredError(f"other_args {row['other_args']!r}: expected three lists and a type")
    return first


def _json(row: Row, column: str) -> Any:
    try:
        return json.loads(row[column])
    except ValueError:
        return None


def _whole(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, int) and abs(v) < _HUGE for v in value)
