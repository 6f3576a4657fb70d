"""Kernel tables of elementwise and row-wise kernels from tile parameters; no TVM needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.kernels import Row, launch_of, stream_of, table_of
from hwsim.mlu_sram.tiles import TileError
from hwsim.table import KernelTable


@dataclass(frozen=True)
class StreamTiles:
    """A kernel that streams tensors through NRAM: load pieces, compute on them, store pieces.

    Parameters
    ----------
    elements:
        Elements of each tensor.
    piece:
        Elements that a core holds of each tensor at a time.
    inputs, outputs:
        Tensors read and written; an in-place kernel needs no NRAM for the output.
    passes, special_passes:
        Vector instructions over a piece; ``special_passes`` of them exp, log, divide and the like.
    launch_tasks:
        Programs launched (0: one a core).
    double_buffer:
        The next piece is loaded and the last one stored while this one is computed.
    bits:
        Width of an element.
    """

    elements: int
    piece: int
    inputs: int = 1
    outputs: int = 1
    passes: int = 1
    special_passes: int = 0
    launch_tasks: int = 0
    in_place: bool = False
    double_buffer: bool = False
    bits: int = 16

    def __post_init__(self) -> None:
        """Refuse what describes no kernel."""
        for name, low in (("elements", 1), ("piece", 1), ("inputs", 0), ("outputs", 0)):
            if getattr(self, name) < low:
                raise TileError(f"{name} is {getattr(self, name)}, expected {low} or more")
        if self.special_passes > self.passes:
            raise TileError(
                f"special_passes is {self.special_passes}, expected at most passes {self.passes}"
            )


def streaming_table(tiles: Sequence[StreamTiles], chip: MluChip) -> KernelTable:
    """One row and candidate an entry."""
    return table_of([{"candidate": i} | _row(one, chip) for i, one in enumerate(tiles)])


def _row(t: StreamTiles, chip: MluChip) -> Row:
    pieces = math.ceil(t.elements / t.piece)
    launch = launch_of(pieces, t.launch_tasks, chip, union=False)
    launch["work_share"] *= t.elements / (pieces * t.piece)
    count, size = launch["out_tiles"], t.piece * t.bits / 8
    buffers = max(t.inputs, t.outputs) if t.in_place else t.inputs + t.outputs
    tensor = t.elements * t.bits / 8
    return {
        **launch,
        "in_bits": t.bits,
        "out_bits": t.bits,
        "flops": float(t.elements) * t.passes,
        "alu_ops": float(t.elements) * (t.passes - t.special_passes),
        "special_ops": float(t.elements) * t.special_passes,
        **stream_of("x_gdram_nram", count * t.inputs, 1, t.piece, t.piece, t.bits),
        **stream_of("c_nram_gdram", count * t.outputs, 1, t.piece, t.piece, t.bits),
        "x_gdram_nram_unique_bytes": t.inputs * tensor,
        "c_nram_gdram_unique_bytes": t.outputs * tensor,
        "vec_count": count * t.passes,
        "vec_bytes": size,
        "nram_bytes": buffers * size,
        "nram_buffers": 2 if t.double_buffer else 1,
    }
