"""Random Ascend kernels for the tests, made by the tile constructors."""

from __future__ import annotations

import numpy as np

from hwsim.ascend_cube.analytical import simulate
from hwsim.ascend_cube.chip import AscendChip
from hwsim.ascend_cube.tiles import matmul_table
from hwsim.ascend_cube.tiling import MatmulTiling
from hwsim.ascend_cube.vector_tiles import VectorTiling, elementwise_table
from hwsim.chips import load_chip
from hwsim.table import KernelTable


def chip_of(name: str) -> AscendChip:
    chip = load_chip(name)
    assert isinstance(chip, AscendChip)
    return chip


def random_valid(n: int, seed: int, chip: AscendChip) -> KernelTable:
    """``n`` kernels that run on ``chip``: four matmuls to one elementwise kernel."""
    rng = np.random.default_rng(seed)
    tables: list[KernelTable] = []
    while len(tables) < n:
        table = _vector(rng) if rng.random() < 0.2 else _matmul(rng)
        if simulate(table, chip).failure[0] == 0:
            tables.append(table)
    return KernelTable.concat(tables)


def _power(rng: np.random.Generator, low: int, high: int) -> int:
    return int(2 ** rng.integers(low, high))


def _matmul(rng: np.random.Generator) -> KernelTable:
    m, n, k = (int(16 * rng.integers(1, 2 ** rng.integers(1, 9))) for _ in range(3))
    step_a, step_b, buffers = _power(rng, 0, 4), _power(rng, 0, 4), int(rng.integers(1, 3))
    tiling = MatmulTiling(
        split_m=_power(rng, 0, 4),
        split_n=_power(rng, 0, 4),
        base_m=16 * _power(rng, 0, 5),
        base_n=16 * _power(rng, 0, 5),
        base_k=16 * _power(rng, 0, 4),
        step_ka=step_a,
        step_kb=step_b,
        depth_a1=buffers * step_a,
        depth_b1=buffers * step_b,
        db_l0a=int(rng.integers(0, 3)),
        db_l0b=int(rng.integers(0, 3)),
        db_l0c=int(rng.integers(0, 3)),
    )
    return matmul_table(
        m,
        n,
        k,
        str(rng.choice(["float16", "int8"])),
        tiling,
        trans_b=bool(rng.integers(0, 2)),
        dequant_to="float16" if rng.random() < 0.15 else None,
    )


def _vector(rng: np.random.Generator) -> KernelTable:
    tiling = VectorTiling(
        blocks=int(rng.choice([1, 8, 24, 48, 96])),
        tile_elements=int(rng.choice([512, 2048, 4096, 8192, 16384])),
        buffers=int(rng.integers(1, 3)),
        run_elements=int(rng.choice([0, 64, 256])),
    )
    return elementwise_table(
        _power(rng, 12, 24),
        str(rng.choice(["float16", "float32"])),
        tiling,
        inputs=int(rng.integers(1, 3)),
        special_ops=int(rng.integers(0, 3)),
    )
