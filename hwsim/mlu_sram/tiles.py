"""Tile parameters of a matmul as one writes it by hand in BANG C; no TVM needed.

>>> from hwsim.chips import load_chip
>>> from hwsim.mlu_sram.analytical import simulate
>>> from hwsim.mlu_sram.kernels import matmul_table
>>> chip = load_chip("mlu370-x4")
>>> tiles = MatmulTiles(m=1024, n=1024, k=1024, tile_m=128, tile_n=256, tile_k=128)
>>> table = matmul_table([tiles], chip)
>>> round(float(simulate(table, chip).latency_us[0]))
179
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields


class TileError(ValueError):
    """Tile parameters that describe no kernel; the message is one line for the user."""


@dataclass(frozen=True)
class MatmulTiles:
    """``C[m, n] = A[m, k] B[k, n]`` in tiles, one program a launched task.

    A task takes output tasks one after another.  One output task is ``row_blocks`` tiles of
    ``tile_m`` rows that share each loaded ``tile_k x tile_n`` tile of B: for every step along K,
    load B, prepare it for WRAM (unless ``b_prepacked``), and for every row block load A, multiply
    and add into the accumulators in NRAM; at the end store ``row_blocks`` tiles of C.  Where one
    step covers K, a B tile stays in WRAM for all output tasks of its column.

    Parameters
    ----------
    m, n, k, tile_m, tile_n, tile_k:
        Elements.  Edge tiles are padded.
    row_blocks:
        Tiles of rows that share one loaded B tile.
    launch_tasks:
        Programs launched; more than the chip has cores run as cores become free.  0: one a core.
    union:
        Four tasks share a cluster (Union1) instead of running wherever a core is free (Block).
    double_buffer:
        The next A tile is loaded and the last C tile stored while this one is computed.
    b_prepacked:
        A kernel before this one brings B into the order of WRAM; ``prepack_tasks`` as above.
    a_transposed, b_transposed:
        A is stored ``[k, m]``, B ``[n, k]``.
    split_k:
        K is split over this many output tasks; a second kernel adds their partial results.
    sram_a, sram_b:
        The operand is staged in the cluster's SRAM; its cores share one B tile.  Wants ``union``.
    batch:
        Independent matmuls of this shape, one after another in the same launch.
    output_tasks, k_share:
        For operands with known zero blocks: output tasks that are computed (0: all), and the mean
        share of the steps along K that they execute.
    in_bits, acc_bits, out_bits:
        Widths of A and B, of the accumulators, of C.
    """

    m: int
    n: int
    k: int
    tile_m: int
    tile_n: int
    tile_k: int
    row_blocks: int = 1
    launch_tasks: int = 0
    union: bool = False
    double_buffer: bool = False
    b_prepacked: bool = False
    prepack_tasks: int = 0
    a_transposed: bool = False
    b_transposed: bool = False
    split_k: int = 1
    batch: int = 1
    sram_a: bool = False
    sram_b: bool = False
    output_tasks: int = 0
    k_share: float = 1.0
    in_bits: int = 16
    acc_bits: int = 32
    out_bits: int = 32

    def __post_init__(self) -> None:
        """Refuse what describes no kernel."""
        may_be_zero = ("launch_tasks", "prepack_tasks", "output_tasks")
        for field in fields(self):
            value, low = getattr(self, field.name), int(field.name not in may_be_zero)
            if field.type == "int" and value < low:
                raise TileError(f"{field.name} is {value}, expected {low} or more")
        if not 0 < self.k_share <= 1:
            raise TileError(f"k_share is {self.k_share}, expected above 0 and at most 1")
        if (self.sram_a or self.sram_b) and not self.union:
            raise TileError("sram_a and sram_b need union: only the cores of a cluster share SRAM")

    @property
    def k_steps(self) -> int:
        """Steps along K of one output task."""
        return max(1, round(self.k_share * math.ceil(self.k / (self.tile_k * self.split_k))))

    @property
    def step_k(self) -> int:
        """Elements of K in one step."""
        return min(self.tile_k, self.k)

    @property
    def row_groups(self) -> int:
        """Output tasks along the rows."""
        return math.ceil(self.m / (self.tile_m * self.row_blocks))

    @property
    def columns(self) -> int:
        """Output tasks along the columns."""
        return math.ceil(self.n / self.tile_n)

    @property
    def tasks(self) -> int:
        """Output tasks in all."""
        return self.output_tasks or self.all_tasks

    @property
    def all_tasks(self) -> int:
        """Output tasks without zero blocks."""
        return self.row_groups * self.columns * self.split_k * self.batch
