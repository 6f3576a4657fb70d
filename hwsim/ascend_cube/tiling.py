"""Tile parameters of a matmul on Ascend, and what follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class MatmulTiling:
    """Tile parameters of one matmul kernel, named as in Ascend C's ``TCubeTiling``.

    ``split_m * split_n`` cores take ``single_core_m * single_core_n`` of the output each (0: an
    even share); a core makes it in tiles of ``base_m * base_n`` over steps of ``base_k``.  With
    ``deal_to`` the tiles are dealt round robin to that many cores instead.  One L1
    transfer brings ``step_m * step_ka`` (``step_n * step_kb``) base blocks, L1 holds ``depth_a1``
    (``depth_b1``) of them, so that ``depth / step`` is the number of buffers.  ``db_l0*`` are the
    buffers in L0 (0: two where 64 KiB of L0A/L0B and 128 KiB of L0C allow it).  ``l2_split_m``
    rounds one after another each take that part of the rows, so that its data stays in L2.
    """

    split_m: int
    split_n: int
    base_m: int
    base_n: int
    base_k: int
    single_core_m: int = 0
    single_core_n: int = 0
    step_m: int = 1
    step_n: int = 1
    step_ka: int = 1
    step_kb: int = 1
    depth_a1: int = 1
    depth_b1: int = 1
    db_l0a: int = 0
    db_l0b: int = 0
    db_l0c: int = 0
    l2_split_m: int = 1
    deal_to: int = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 0 or (value == 0 and not name.startswith(("db_", "single_", "deal_"))):
                raise ValueError(f"{name} is {value}, expected a positive number")


@dataclass(frozen=True)
class Shape:
    """A matmul with its tiling: ``m, n, k`` elements, widths in bytes."""

    m: int
    n: int
    k: int
    in_bytes: int
    out_bytes: int
    t: MatmulTiling

    @property
    def core_m(self) -> int:
        """Rows of the output that one core makes in one L2 round."""
        if self.t.deal_to:
            return self.m
        return self.t.single_core_m or math.ceil(self.m / (self.t.split_m * self.t.l2_split_m))

    @property
    def core_n(self) -> int:
        """Columns of the output that one core makes."""
        if self.t.deal_to:
            return self.n
        return self.t.single_core_n or math.ceil(self.n / self.t.split_n)

    @property
    def tiles_m(self) -> int:
        """Rows of base tiles: of a core, or of the whole output where tiles are dealt."""
        return math.ceil(self.core_m / self.t.base_m) * self.t.l2_split_m

    @property
    def tiles_n(self) -> int:
        """Columns of base tiles."""
        return math.ceil(self.core_n / self.t.base_n)

    @property
    def blocks(self) -> int:
        """Cores with work."""
        if self.t.deal_to:
            return min(self.t.deal_to, self.tiles_m * self.tiles_n)
        return self.t.split_m * self.t.split_n

    @property
    def tiles(self) -> int:
        """Tiles of one core."""
        every = self.tiles_m * self.tiles_n
        return math.ceil(every / self.blocks) if self.t.deal_to else every

    @property
    def tile_rows(self) -> int:
        """Rows of tiles that one core goes through, of ``tile_columns`` each."""
        return math.ceil(self.tiles / self.tile_columns)

    @property
    def tile_columns(self) -> int:
        """Tiles in one of a core's rows of tiles."""
        return 1 if self.t.deal_to else self.tiles_n

    @property
    def share(self) -> float:
        """Mean work of a core over that of the busiest."""
        if self.t.deal_to:
            return self.tiles_m * self.tiles_n / (self.blocks * self.tiles)
        return min(
            1.0, self.m * self.n / (self.blocks * self.core_m * self.t.l2_split_m * self.core_n)
        )

    @property
    def k_steps(self) -> int:
        """Base steps of the reduction."""
        return math.ceil(self.k / self.t.base_k)

    @property
    def rows(self) -> float:
        """Rows of a base tile, the mean over a core's tiles (the last may be lower)."""
        return self.core_m * self.t.l2_split_m / self.tiles_m

    @property
    def columns(self) -> float:
        """Columns of a base tile, the mean over a core's tiles."""
        return self.core_n / self.tiles_n

    @property
    def depth(self) -> float:
        """Reduction of a base step, the mean over the steps."""
        return self.k / self.k_steps
