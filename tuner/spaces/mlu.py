"""Design space of an MLU chip: products on the matrix units, everything else on the vector units.

Scopes: ``global`` (GDRAM), ``shared.sram``, ``local.nram``, ``local.wram``.  blockIdx.x counts
tiles that are dealt to the clusters, threadIdx.x the cores that a tile is divided among.  A copy
into ``shared.sram`` is made once for a cluster (by its memory core), although it stands inside the
loop over cores.
"""

from __future__ import annotations

from tvm.s_tir import Schedule
from tvm.target import Target

from hwsim.mlu_sram.chip import MluChip
from tuner.spaces import mlu_matmul, vector
from tuner.spaces.intrinsics import MatrixUnit
from tuner.spaces.matmul_like import extents, main_blocks
from tuner.spaces.vector_tiles import VectorUnit
from tuner.workloads.workload import ACCUMULATOR

ROWS, FEW_ROWS = 16, 4  # of one intrinsic: the unit takes any number, a product with few pads less


def target(chip: MluChip) -> Target:
    """TVM knows no MLU: an ``ext_dev`` that carries the chip's name."""
    return Target({"kind": "ext_dev", "keys": ["mlu"], "model": chip.name})


def matrix_unit(chip: MluChip, dtype: str, rows: int) -> MatrixUnit:
    """The matrix unit's instruction for inputs of ``dtype`` on ``rows`` rows."""
    return MatrixUnit(
        chip_family="mlu",
        m=rows,
        n=chip.matmul_multiple,
        k=chip.matmul_multiple,
        dtype=dtype,
        accumulator=ACCUMULATOR[dtype],
        scope_a="local.nram",
        scope_b="local.wram",
        scope_c="local.nram",
    )


def sketches(sch: Schedule, dtype: str, chip: MluChip) -> list[Schedule]:
    """Four matrix-unit sketches for a product of ``dtype``, vector sketches for all else."""
    products = main_blocks(sch)
    if len(products) == 1:
        unit = matrix_unit(chip, dtype, ROWS)
        shape = extents(sch, products[0], unit)
        if shape is not None and shape[0] < ROWS:
            unit = matrix_unit(chip, dtype, FEW_ROWS)
        found = mlu_matmul.sketches(sch, products[0], unit, chip.clusters, chip.cores_per_cluster)
        if found:
            return found
    return vector.sketches(sch, VectorUnit("local.nram", chip.clusters, chip.cores_per_cluster))
