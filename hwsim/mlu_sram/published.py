"""Rows of published MLU370 measurements as kernel tables.

The columns are those of two public collections: ``tile_experiments`` (matmul kernels in BANG C,
one row a version) and ``bang_ladder`` (one matmul in six steps of optimisation).  A row whose
parameters were not published, or whose kernel is scalar code, gives None.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

import msgspec

from hwsim.cells import whole
from hwsim.chip import ChipError
from hwsim.chips import load_chip
from hwsim.mlu_sram.chip import MluChip
from hwsim.mlu_sram.kernels import matmul_table
from hwsim.mlu_sram.tiles import MatmulTiles
from hwsim.table import KernelTable

_Row = Mapping[str, str]
_TRIANGLE_K_SHARE = 1 / 3  # mean of (i - j) / n over the lower triangle's tiles


def chip_of(row: _Row) -> MluChip:
    """The shipped chip that a row was measured on, at the clock that the row states.

    Raises
    ------
    ChipError
        No shipped MLU has the row's name.
    """
    found = re.match(r"(?i)mlu370-[a-z]\d", row["chip"])
    chip = load_chip(found[0].lower() if found else row["chip"])
    if not isinstance(chip, MluChip):
        raise ChipError(f"chip {row['chip']!r}: expected an MLU370")
    clock_mhz = float(row.get("clock_mhz") or chip.clock_mhz)
    return msgspec.structs.replace(chip, clock_mhz=clock_mhz)


def tile_experiment(row: _Row) -> KernelTable | None:
    """The kernels of one row of ``tile_experiments``: one candidate."""
    tiles = experiment_tiles(row)
    return None if tiles is None else matmul_table([tiles], chip_of(row))


def ladder_step(row: _Row) -> KernelTable | None:
    """The kernel of one row of ``bang_ladder``."""
    tiles = ladder_tiles(row)
    return None if tiles is None else matmul_table([tiles], chip_of(row))


def experiment_tiles(row: _Row) -> MatmulTiles | None:
    """Tile parameters of one row of ``tile_experiments``.

    A kernel that computes only part of the output tiles (triangular operands) skips the zero steps
    along K as well.
    """
    if not row["TM"]:
        return None
    prepack = re.search(r"kprep:(\d+)x(\d+)", row["note"])
    tiles = MatmulTiles(
        m=whole(row, "M"),
        n=whole(row, "N"),
        k=whole(row, "K"),
        tile_m=whole(row, "TM"),
        tile_n=whole(row, "TN"),
        tile_k=whole(row, "TK"),
        row_blocks=whole(row, "RB", 1),
        launch_tasks=whole(row, "launch_tasks", 0),
        union=row["launch_type"].startswith("Union"),
        double_buffer=row["async_double_buffer"] == "1",
        b_prepacked=row["b_prepacked"] == "1" or "prepacked B" in row["note"],
        prepack_tasks=int(prepack[1]) * int(prepack[2]) if prepack else 0,
        a_transposed="A^T" in row["a_layout"],
        b_transposed="B^T" in row["b_layout"],
        split_k=whole(row, "split_k", 1),
        in_bits=_bits(row["dtype_in"]),
        acc_bits=_bits(row["dtype_acc"]),
        out_bits=_bits(row["dtype_out"]),
    )
    return _triangular(tiles, whole(row, "output_tasks", 0))


def ladder_tiles(row: _Row) -> MatmulTiles | None:
    """Tile parameters of one row of ``bang_ladder``; None for the two scalar steps."""
    if "matmul" not in row["technique"] and not row["loops"]:
        return None
    n, k = whole(row, "N_out"), whole(row, "K_reduction")
    bits = _bits(row["dtype"])
    return MatmulTiles(
        m=whole(row, "M"),
        n=n,
        k=k,
        tile_m=whole(row, "m_per_loop", 0) or whole(row, "M"),
        tile_n=n,
        tile_k=k,
        launch_tasks=whole(row, "blocks", 1),
        union=row["launch_type"].startswith("Union"),
        double_buffer=whole(row, "buffers", 1) > 1,
        sram_a="SRAM" in row["technique"],
        in_bits=bits,
        acc_bits=32,
        out_bits=bits,
    )


def _triangular(tiles: MatmulTiles, output_tasks: int) -> MatmulTiles:
    if output_tasks == 0 or output_tasks >= tiles.tasks:
        return tiles
    return dataclasses.replace(tiles, output_tasks=output_tasks, k_share=_TRIANGLE_K_SHARE)


def _bits(dtype: str) -> int:
    found = re.fullmatch(r"(?:fp|int)(\d\d?)", dtype)
    if found is None:
        raise ValueError(f"dtype {dtype!r}: expected one like fp16 or int8")
    return int(found[1])
